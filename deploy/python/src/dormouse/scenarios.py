"""Scenario files as tests: ``fleet simulate`` runs each of them."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from .suite import find_checkout

if TYPE_CHECKING:
    from _pytest._code.code import TerminalRepr


class ScenarioFailed(Exception):
    """An expectation of a scenario is not met, or its file has errors."""


class ScenarioFile(pytest.File):
    """A file that is named ``*.scenario.yaml``."""

    @staticmethod
    def collect_from(parent: pytest.Collector, path: Path) -> pytest.Collector:
        """Returns the collector of a file."""
        collected: pytest.Collector = ScenarioFile.from_parent(parent, path=path)  # pyright: ignore[reportUnknownMemberType]
        return collected

    def collect(self) -> Iterable[pytest.Item]:
        """Returns the only test in the file."""
        name = self.path.name.split(".")[0]
        item: pytest.Item = ScenarioItem.from_parent(self, name=name)  # pyright: ignore[reportUnknownMemberType]
        yield item


class ScenarioItem(pytest.Item):
    """A scenario. It passes if all its expectations are met."""

    def runtest(self) -> None:
        """Simulates the scenario."""
        fleet = find_fleet(self.config)
        if fleet is None:
            pytest.skip("no executable `fleet`: give --dormouse-binaries, or put it into PATH")
        command = [str(fleet), "simulate", str(self.path)]
        process = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
        self.add_report_section("call", "fleet", process.stdout)
        if process.returncode != 0:
            raise ScenarioFailed(process.stderr.strip() or process.stdout.strip())

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: object = None) -> str | TerminalRepr:
        """Returns the message of `fleet` without a traceback."""
        if isinstance(excinfo.value, ScenarioFailed):
            return f"{self.path.name}\n{excinfo.value}"
        return super().repr_failure(excinfo)

    def reportinfo(self) -> tuple[os.PathLike[str], None, str]:
        """Returns the place and the name for reports."""
        return self.path, None, f"scenario {self.name}"


def find_fleet(config: pytest.Config) -> Path | None:
    """Returns the executable ``fleet``: of ``--dormouse-binaries``, of ``PATH``, or of the checkout's build."""
    folders: list[Path] = []
    for name in ("binaries", "checkout"):
        value: object = config.getoption(f"dormouse_{name}")
        if isinstance(value, str):
            folders.append(Path(value).expanduser())
    checkout = find_checkout(config.invocation_params.dir, config.rootpath)
    if checkout is not None:
        folders.append(checkout)
    for folder in folders:
        for candidate in (folder / "fleet", folder / ".build/release/fleet", folder / ".build/debug/fleet"):
            if candidate.is_file() and os.access(candidate, os.X_OK):
                return candidate
    found = shutil.which("fleet")
    return None if found is None else Path(found)
