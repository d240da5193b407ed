"""Built-in devices, and many devices at once, of a real suite."""

from __future__ import annotations

import threading
from datetime import timedelta

import pytest

from dormouse import BuiltIn, Dormouse, DormouseError, Problem, Suite

from .conftest import APP, Provider


def test_the_suite_answers_for_a_built_in_device(dormouse: Dormouse, provider: Provider) -> None:
    phone = dormouse.device(built_in=BuiltIn(answers_after="20s", result="noData"))
    phone.install(APP, modes=["remote-notification", "fetch"])
    phone.user.opens()
    phone.user.goes_home()
    provider.silent(phone)
    assert phone.notifications.last.status == "Woke App", phone.why()
    begin = dormouse.now
    assert dormouse.advance("1m") == begin + timedelta(minutes=1)
    assert phone.notifications.last.status == "Completed", phone.why()
    assert phone.notifications.last.delay == 20
    with pytest.raises(DormouseError, match="is built in"):
        phone.handles("push", completes=False)


def test_a_built_in_device_opens_its_notifications(dormouse: Dormouse, provider: Provider) -> None:
    phone = dormouse.device(built_in=BuiltIn(opens="atOnce")).install(APP)
    phone.user.opens()
    phone.user.goes_home()
    provider.alert(phone)
    assert phone.notifications.last.status == "Opened", phone.why()
    assert phone.app().state == "active"
    dormouse.advance("5m")
    assert phone.app().state == "suspended", phone.timeline()


def test_a_built_in_device_may_be_offline(dormouse: Dormouse, provider: Provider) -> None:
    phone = dormouse.device(built_in=BuiltIn(online=False)).install(APP)
    phone.user.opens()
    provider.alert(phone)
    assert phone.notifications.last.status == "Stored – Device Offline", phone.why()


def test_many_devices_share_two_streams(dormouse: Dormouse, provider: Provider) -> None:
    before = threading.active_count()
    phones = dormouse.make_devices(30)
    assert threading.active_count() <= before + 2 + 8
    for phone in phones[:3]:
        phone.install(APP)
        phone.user.opens()
        provider.alert(phone)
    dormouse.settle()
    assert [len(phone.side.received) for phone in phones[:4]] == [1, 1, 1, 0]


def test_many_devices_are_registered_and_changed_at_once(dormouse: Dormouse) -> None:
    phones = dormouse.make_devices(20, "ios18", time_zone="Europe/Berlin")
    assert len({phone.name for phone in phones}) == 20 and phones == dormouse.devices
    dormouse.set_conditions(lowPowerMode=True, battery={"level": 0.2})
    for phone in phones:
        assert phone.state.record("registration").text("profile") == "ios18"
        assert phone.state.record("conditions").flag("lowPowerMode")
    with pytest.raises(Problem, match="line 1 of POST"):
        dormouse.make_devices(3, "ios99")


def test_the_end_of_a_session_removes_its_devices(dormouse_suite: Suite) -> None:
    with Dormouse(dormouse_suite) as session:
        phone = session.make_devices(3)[1]
    with pytest.raises(Problem) as gone:
        session.suite.services.call("GET", "lifecycle", f"/v1/devices/{phone.name}")
    assert gone.value.status == 404
