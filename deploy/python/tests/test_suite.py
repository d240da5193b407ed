"""The start of a suite, with scripts in the place of ``deploy/up`` and ``deploy/down``."""

from __future__ import annotations

from pathlib import Path

import pytest

from dormouse import Suite, SuiteFailed
from dormouse.suite import find_checkout


def checkout(folder: Path, up: str) -> Path:
    """Makes a checkout whose scripts are these."""
    (folder / "deploy").mkdir()
    (folder / "Package.swift").touch()
    down = f'echo "$@" > {folder}/down'
    for name, script in (("up", up), ("down", down)):
        file = folder / "deploy" / name
        file.write_text(f"#!/bin/sh\n{script}\n")
        file.chmod(0o755)
    return folder


def test_a_failed_start_shows_the_output_and_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATABASE_URL", "postgres://my-own-database")
    home = checkout(tmp_path, 'echo "arguments: $@"; echo "database: ${DATABASE_URL:-none}" >&2; exit 3')
    with pytest.raises(SuiteFailed) as raised:
        Suite.start(home, binaries=tmp_path)
    message = str(raised.value)
    assert "ended with status 3" in message
    assert "--detach --virtual-time --no-fleet --data" in message
    # The database of the project under test is not the one of the suite.
    assert "database: none" in message
    data = (tmp_path / "down").read_text().split()[1]
    assert not Path(data).exists()


def test_a_folder_without_a_checkout_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SuiteFailed, match="is no checkout of Dormouse"):
        Suite.start(tmp_path)


def test_the_checkout_is_found_from_a_folder_in_it(tmp_path: Path) -> None:
    home = checkout(tmp_path, "exit 0")
    deep = home / "deploy" / "python" / "example"
    deep.mkdir(parents=True)
    assert find_checkout(deep) == home.resolve()
