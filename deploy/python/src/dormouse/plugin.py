"""The plugin of pytest: fixtures, messages of failures, scenario files."""

from __future__ import annotations

import os
from collections.abc import Generator
from pathlib import Path

import pluggy
import pytest

from .device import Device
from .scenarios import ScenarioFile
from .session import Dormouse
from .suite import Suite, find_checkout

_SESSION = pytest.StashKey[Dormouse]()
_OPTIONS = {
    "endpoints": "use the running suite of this endpoints.json, and freeze its clock",
    "checkout": "start a suite from this checkout of Dormouse",
    "binaries": "start the executables in this folder, and build nothing",
}


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds the options. Each has an environment variable, for example ``DORMOUSE_ENDPOINTS``."""
    group = parser.getgroup("dormouse")
    for name, words in _OPTIONS.items():
        variable = f"DORMOUSE_{name.upper()}"
        default = os.environ.get(variable) or None
        group.addoption(f"--dormouse-{name}", default=default, metavar="PATH", help=f"{words} (default: {variable})")


def option(config: pytest.Config, name: str) -> Path | None:
    """Returns the path of an option."""
    value: object = config.getoption(f"dormouse_{name}")
    return Path(value).expanduser() if isinstance(value, str) else None


@pytest.fixture(scope="session")
def dormouse_suite(request: pytest.FixtureRequest) -> Generator[Suite, None, None]:
    """A running suite for all tests of the process: the one of ``--dormouse-endpoints``, or a new one."""
    config = request.config
    endpoints, checkout = option(config, "endpoints"), option(config, "checkout")
    if endpoints is not None:
        suite = Suite.connect(endpoints)
    else:
        checkout = checkout or find_checkout(config.invocation_params.dir, config.rootpath)
        if checkout is None:
            pytest.fail("no Dormouse found: give --dormouse-checkout=DIR or --dormouse-endpoints=FILE", pytrace=False)
        suite = Suite.start(checkout, binaries=option(config, "binaries"))
    try:
        yield suite
    finally:
        suite.close()


@pytest.fixture
def dormouse(request: pytest.FixtureRequest, dormouse_suite: Suite) -> Generator[Dormouse, None, None]:
    """A fleet of devices of its own for a test. The devices are removed after the test."""
    session = Dormouse(dormouse_suite)
    node: object = request.node
    if isinstance(node, pytest.Item):
        node.stash[_SESSION] = session
    try:
        yield session
    finally:
        session.close()


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pluggy.Result[pytest.TestReport], None]:
    """Adds the timelines of the devices to the message of a failure, and so to the JUnit file."""
    outcome = yield
    report = outcome.get_result()
    session = item.stash.get(_SESSION, None)
    if call.when == "teardown" or not report.failed or session is None:
        return
    for title, text in session.report(_named(call)):
        add = getattr(report.longrepr, "addsection", None)
        if callable(add):
            add(title, text)
        else:
            report.sections.append((title, text))


def _named(call: pytest.CallInfo[None]) -> list[Device]:
    """Returns the devices in the variables of the failed code, the innermost function first."""
    if call.excinfo is None:
        return []
    variables = [value for entry in reversed(call.excinfo.traceback) for value in entry.locals.values()]
    return [value for value in variables if isinstance(value, Device)]


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """Collects ``*.scenario.yaml``: each is a test that ``fleet simulate`` runs."""
    if file_path.name.endswith((".scenario.yaml", ".scenario.yml")):
        return ScenarioFile.collect_from(parent, file_path)
    return None
