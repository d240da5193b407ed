"""The plugin, in a run of pytest within the test."""

from __future__ import annotations

import json
import xml.etree.ElementTree as xml
from collections.abc import Callable
from pathlib import Path

import pytest

from dormouse import Suite

Run = Callable[..., pytest.RunResult]


@pytest.fixture
def run(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs pytest in an empty folder, without the options of this run."""
    for name in ("ENDPOINTS", "CHECKOUT", "BINARIES"):
        monkeypatch.delenv(f"DORMOUSE_{name}", raising=False)
    return pytester.runpytest_inprocess


def nothing(*_: object) -> None:
    """Finds nothing."""


def write_endpoints(suite: Suite, folder: Path) -> Path:
    endpoints = suite.endpoints
    names = ("lifecycle", "fetch", "push", "transfer", "ops", "apns", "ca")
    document = {name: getattr(endpoints, name) for name in names}
    file = folder / "endpoints.json"
    file.write_text(json.dumps({**document, "operatorKey": endpoints.operator_key}))
    return file


def test_a_failure_shows_what_happened_on_the_device(
    pytester: pytest.Pytester, run: Run, dormouse_suite: Suite
) -> None:
    pytester.makepyfile(
        """
        import pytest

        def test_score(dormouse):
            phone = dormouse.device("ios26").install("com.example.scores")
            phone.user.opens()
            phone.user.force_quits()
            assert phone.app().state == "active"

        @pytest.fixture
        def phone(dormouse):
            dormouse.device("ios18").app("com.example.none")

        def test_setup(phone):
            pass

        def test_other(dormouse):
            dormouse.device("ios15")
        """
    )
    file = write_endpoints(dormouse_suite, pytester.path)
    result = run(f"--dormouse-endpoints={file}", "--junit-xml=junit.xml")
    result.assert_outcomes(passed=1, failed=1, errors=1)
    result.stdout.fnmatch_lines(["*has no app 'com.example.none'*", "test-*-1 (ios18): on, network wifi*"])
    result.stdout.fnmatch_lines(
        [
            "*AssertionError*",
            "*Dormouse: why, test-*",
            "com.example.scores is notRunning*forceQuit*",
            "*Dormouse: timeline of test-*",
            "+00:00:00.000  lifecycle.app.terminated com.example.scores*reason=forceQuit*",
        ]
    )
    failure = xml.parse(pytester.path / "junit.xml").getroot().find(".//failure")
    assert failure is not None and failure.text is not None
    assert "lifecycle.app.terminated com.example.scores" in failure.text


def test_a_failure_with_many_devices_begins_with_the_one_that_the_test_names(
    pytester: pytest.Pytester, run: Run, dormouse_suite: Suite
) -> None:
    pytester.makepyfile(
        """
        from dormouse import BuiltIn

        def test_score(dormouse):
            for phone in dormouse.make_devices(20, built_in=BuiltIn())[:9]:
                assert not phone.name.endswith("-7")
        """
    )
    result = run(f"--dormouse-endpoints={write_endpoints(dormouse_suite, pytester.path)}")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        ["*Dormouse: why, test-*-7 *", "*Dormouse: why, test-*-1 *", "15 other devices of test-* are not shown*"]
    )


def test_a_run_without_a_suite_says_what_to_do(
    pytester: pytest.Pytester, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytester.makepyfile("def test_it(dormouse): pass")
    monkeypatch.setattr("dormouse.plugin.find_checkout", nothing)
    result = run()
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*no Dormouse found: give --dormouse-checkout=DIR or --dormouse-endpoints=FILE*"])


def fleet(folder: Path, script: str) -> Path:
    """Makes a folder with an executable ``fleet``."""
    (folder / "bin").mkdir()
    file = folder / "bin" / "fleet"
    file.write_text(f"#!/bin/sh\n{script}\n")
    file.chmod(0o755)
    return folder / "bin"


def test_scenario_files_are_tests(pytester: pytest.Pytester, run: Run) -> None:
    for name in ("good", "bad"):
        (pytester.path / f"{name}.scenario.yaml").touch()
    (pytester.path / "other.yaml").touch()
    binaries = fleet(pytester.path, 'echo "$1"; case $2 in */bad.scenario.yaml) echo "shown: 3%" >&2; exit 1;; esac')
    result = run(f"--dormouse-binaries={binaries}", "-v")
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["bad.scenario.yaml::bad FAILED*", "good.scenario.yaml::good PASSED*"])
    result.stdout.fnmatch_lines(["*bad.scenario.yaml", "shown: 3%", "*Captured fleet call*", "simulate"])
    result.stdout.no_fnmatch_line("*Traceback*")


def test_scenarios_without_fleet_are_skipped(
    pytester: pytest.Pytester, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    (pytester.path / "good.scenario.yaml").touch()
    monkeypatch.setattr("dormouse.scenarios.find_fleet", nothing)
    run().assert_outcomes(skipped=1)
