"""Tests that begin with the same prepared devices: they are made once, saved, and restored before each test."""

from __future__ import annotations

from collections.abc import Generator

import pytest
from scores import APP
from scores.notifier import Notifier

from dormouse import BuiltIn, Dormouse, Suite, SuiteFailed

SNAPSHOT = "crowd"
COUNT = 50


@pytest.fixture(scope="module")
def prepared(dormouse_suite: Suite, notifier: Notifier) -> Generator[Dormouse, None, None]:
    """Fans that have had a day with a goal each hour. The suite answers for their phones."""
    with Dormouse(dormouse_suite) as crowd:
        for phone in crowd.make_devices(COUNT, built_in=BuiltIn()):
            phone.install(APP, modes=["remote-notification"])
            phone.user.opens()
            phone.user.goes_home()
        tokens = [phone.token for phone in crowd.devices]
        for hour in range(3):
            notifier.goal(tokens, f"{hour}:0")
            crowd.advance("1h")
        try:
            dormouse_suite.save(SNAPSHOT)
        except SuiteFailed as error:
            pytest.skip(str(error))
        yield crowd


@pytest.fixture
def crowd(prepared: Dormouse, dormouse_suite: Suite) -> Dormouse:
    """The prepared fans, as they were after their day."""
    dormouse_suite.restore(SNAPSHOT)
    return prepared


def test_a_late_goal_arrives(crowd: Dormouse, notifier: Notifier) -> None:
    begin = crowd.now
    notifier.goal([phone.token for phone in crowd.devices], "3:1")
    for phone in crowd.devices:
        assert [item.status for item in phone.notifications] == ["Shown"] * 4, phone.why()
    crowd.advance("1h")
    assert (crowd.now - begin).total_seconds() == 3600


def test_the_tests_do_not_see_each_other(crowd: Dormouse, notifier: Notifier) -> None:
    phone = crowd.devices[0]
    assert len(phone.notifications) == 3, phone.timeline()
    crowd.set_conditions(network={"kind": "none"})
    notifier.goal([phone.token], "3:1")
    assert phone.notifications.last.status == "Stored – Device Offline", phone.why()
