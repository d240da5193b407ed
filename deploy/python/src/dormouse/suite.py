"""A running suite: one that this process starts, or one that runs already."""

from __future__ import annotations

import itertools
import os
import shutil
import socket
import subprocess
import tempfile
from pathlib import Path

from .clock import Clock
from .problems import SuiteFailed
from .services import Endpoints, Services, path

_OFFSETS = (0, 1, 2, 3, 4, 97)
# `deploy/up` would use this database, and encrypt with these certificates.
_FOREIGN = ("DATABASE_URL", "TLS_CERTIFICATE", "TLS_KEY")


class Suite:
    """A running suite, of ``Suite.start`` or ``Suite.connect``. As a context manager it is closed at the end."""

    def __init__(self, endpoints: Endpoints, *, checkout: Path | None = None, data: Path | None = None) -> None:
        self.endpoints: Endpoints = endpoints
        self.services: Services = Services(endpoints)
        self.clock: Clock = Clock(self.services)
        self._checkout: Path | None = checkout
        self._data: Path | None = data
        self._keys: list[tuple[str, str]] = []

    @staticmethod
    def connect(endpoints_file: str | Path) -> Suite:
        """Uses a suite that runs already. It freezes the clock if the time of the suite is virtual.

        Args:
            endpoints_file: the file ``endpoints.json`` in the data folder of ``deploy/up``.

        Raises:
            SuiteFailed: the file can't be read.
        """
        suite = Suite(Endpoints.read(endpoints_file))
        suite.clock.freeze()
        return suite

    @staticmethod
    def start(checkout: str | Path, *, binaries: str | Path | None = None) -> Suite:
        """Starts a suite with ``deploy/up``, in virtual time, with its own database, ports and data folder.

        Args:
            checkout: the folder of Dormouse.
            binaries: a folder with its executables. Without it, ``deploy/up`` builds them first.

        Raises:
            SuiteFailed: the suite did not start; the message has the end of the output.
        """
        home = Path(checkout).resolve()
        up = home / "deploy" / "up"
        if not up.is_file():
            raise SuiteFailed(f"{home} is no checkout of Dormouse: {up} is missing")
        data = Path(tempfile.mkdtemp(prefix="dormouse-"))
        command = [str(up), "--detach", "--virtual-time", "--no-fleet"]
        command += ["--data", str(data), "--port-base", str(_free_ports())]
        if binaries is not None:
            command += ["--binaries", str(Path(binaries).resolve())]
        try:
            _run(command)
            suite = Suite(Endpoints.read(data / "endpoints.json"), checkout=home, data=data)
            suite.clock.freeze()
        except BaseException:
            # An interrupt must not leave processes either.
            _stop(home, data)
            raise
        return suite

    def __enter__(self) -> Suite:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def trust(self, *, key_id: str, team_id: str, public_key: str, environment: str = "sandbox") -> None:
        """Lets a provider sign with a key until the suite is closed, as the developer account of Apple does.

        Args:
            key_id: the key ID, ten characters.
            team_id: the team ID, ten characters. A team has at most two keys.
            public_key: the public key of ES256 in PEM.
            environment: ``sandbox`` or ``production``.
        """
        document = {"keyID": key_id, "teamID": team_id, "publicKey": public_key, "environment": environment}
        self.services.call("POST", "push", "/v1/provider-keys", document)
        self._keys.append((team_id, key_id))

    def save(self, name: str) -> None:
        """Saves the state of the whole suite, with its devices, log and clock. It takes a few seconds.

        Args:
            name: the name of the snapshot, which must be new.

        Raises:
            SuiteFailed: this process did not start the suite, or the snapshot failed; the message says why.
        """
        self._snapshot("save", name)

    def restore(self, name: str) -> None:
        """Returns to a saved state, as if nothing had happened since. It takes a few seconds.

        Devices of that time go on. Devices that were made later are gone.

        Raises:
            SuiteFailed: there is no such snapshot, or the restore failed; the message says why.
        """
        self.clock.forget_work()
        self._snapshot("restore", name)

    def _snapshot(self, action: str, name: str) -> None:
        if self._checkout is None or self._data is None:
            raise SuiteFailed("only a suite that this process started has snapshots: see ./deploy/snapshot for others")
        _run([str(self._checkout / "deploy" / "snapshot"), "--data", str(self._data), action, name])

    def close(self) -> None:
        """Stops the suite and removes its data if this process started it; otherwise removes the trusted keys."""
        try:
            if self._checkout is not None and self._data is not None:
                _stop(self._checkout, self._data)
                return
            for key in self._keys:
                self.services.call("DELETE", "push", path("v1", "provider-keys", *key))
        finally:
            self.services.close()


def find_checkout(*starts: Path) -> Path | None:
    """Returns the checkout of Dormouse that contains a folder, or that this package is installed from for editing."""
    for origin in (*(start.resolve() for start in starts), Path(__file__).resolve()):
        for folder in (origin, *origin.parents):
            if (folder / "deploy" / "up").is_file() and (folder / "Package.swift").is_file():
                return folder
    return None


def _stop(checkout: Path, data: Path) -> None:
    try:
        _run([str(checkout / "deploy" / "down"), "--data", str(data)])
    finally:
        shutil.rmtree(data, ignore_errors=True)


def _run(command: list[str]) -> None:
    environment = {name: value for name, value in os.environ.items() if name not in _FOREIGN}
    # A file instead of a pipe: the processes of the suite may inherit it, and a pipe would then stay open.
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as output:
        process = subprocess.run(
            command, check=False, stdin=subprocess.DEVNULL, stdout=output, stderr=output, env=environment
        )
        if process.returncode != 0:
            output.seek(0)
            end = "".join(output.readlines()[-25:])
            raise SuiteFailed(f"{' '.join(command)} ended with status {process.returncode}:\n{end}")


def _free_ports() -> int:
    """Returns a base such that all ports of ``deploy/up`` are free."""
    # A process of pytest-xdist begins at its own place, so that two rarely choose the same ports.
    begin = 20_000 + os.getpid() * 101 % 10_000
    for base in itertools.chain(range(begin, 32_000, 101), range(20_000, begin, 101)):
        if all(_is_free(base + offset) for offset in _OFFSETS):
            return base
    raise SuiteFailed("no free ports between 20000 and 32000")


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True
