"""Devices of a real suite."""

from __future__ import annotations

import threading
from datetime import timedelta

import httpx
import pytest

from dormouse import Device, Dormouse, DormouseError, NotSettled, Problem, Suite, Transfer, Wake

from .conftest import APP, Provider


def test_an_alert_is_shown(phone: Device, provider: Provider) -> None:
    identifier = provider.alert(phone, "1:0")
    shown = phone.notifications.last
    assert shown.status == "Shown", phone.why()
    assert shown.apns_id.lower() == identifier.lower()
    assert phone.notifications.with_id(identifier) == shown
    assert [step.status for step in shown.statuses] == ["Received", "Delivered", "Acknowledged"]
    assert shown.payload is not None and shown.payload.record("aps").text("alert") == "1:0"


def test_a_tapped_notification_opens_the_app(phone: Device, provider: Provider) -> None:
    provider.alert(phone)
    phone.user.taps(phone.notifications.last)
    assert phone.app().state == "active"
    assert phone.notifications.last.status == "Opened"
    assert not phone.notifications.shown


def test_an_app_on_screen_presents_only_what_it_says(dormouse: Dormouse, provider: Provider) -> None:
    for presents, status in (((), "Acknowledged"), (("banner", "sound"), "Shown")):
        phone = dormouse.device().install(APP, presents=presents)
        phone.user.opens()
        provider.alert(phone)
        assert phone.notifications.last.shown == (status == "Shown"), phone.why()


def test_a_denied_authorization_discards_alerts(dormouse: Dormouse, provider: Provider) -> None:
    phone = dormouse.device().install(APP, authorization="denied")
    phone.user.opens()
    phone.user.goes_home()
    provider.alert(phone)
    assert phone.notifications.last.status.startswith("Discarded"), phone.why()


def test_the_user_may_allow_notifications_later(dormouse: Dormouse, provider: Provider) -> None:
    phone = dormouse.device().install(APP, authorization="denied")
    phone.user.opens()
    phone.user.goes_home()
    phone.user.allows_notifications(True)
    provider.alert(phone)
    assert phone.notifications.last.status == "Shown", phone.why()


def test_a_silent_push_runs_the_code_of_the_app(phone: Device, provider: Provider) -> None:
    wakes: list[Wake] = []
    phone.handles("push", work=wakes.append)
    provider.silent(phone)
    assert phone.notifications.last.status == "Completed", phone.why()
    assert [(wake.app, wake.reason, wake.limit_seconds) for wake in wakes] == [(APP, "push", 30)]
    assert wakes[0].payload.record("aps").integer("content-available") == 1


def test_the_code_of_an_app_may_push_to_another_phone(dormouse: Dormouse, provider: Provider) -> None:
    first, second = (
        dormouse.device(profile).install(APP, modes=["remote-notification"]) for profile in ("ios15", "ios26")
    )
    for phone in (first, second):
        phone.user.opens()
        phone.user.goes_home()

    def answers(_: Wake) -> None:
        provider.alert(second, "here is the table")

    first.handles("push", takes="10s", work=answers)
    begin = dormouse.now
    provider.silent(first)
    dormouse.advance("1h")
    assert second.notifications.last.status == "Shown", second.why()
    assert second.notifications.last.received_at == begin + timedelta(seconds=10)


def test_a_silent_push_may_start_a_download(dormouse: Dormouse, phone: Device, provider: Provider) -> None:
    url = dormouse.publish("table", b"1. Hamburg")
    transfers: list[Transfer] = []

    def downloads(_: Wake) -> None:
        # The services may not have settled yet, but the code can ask.
        assert phone.notifications.last.push_type == "background"
        transfers.append(phone.download(url))

    phone.handles("push", work=downloads)
    provider.silent(phone)
    phone.settle()
    assert transfers[0].wait().content == b"1. Hamburg", phone.why()


def test_an_alert_on_screen_before_ios10_is_not_shown(dormouse: Dormouse, provider: Provider) -> None:
    phone = dormouse.device("ios9").install(APP)
    phone.user.opens()
    provider.alert(phone)
    assert not phone.notifications.last.shown, phone.why()


def test_an_error_in_the_code_of_the_app_fails_the_test(phone: Device, provider: Provider) -> None:
    def fails(_: Wake) -> None:
        raise RuntimeError("no table of the league")

    phone.handles("push", work=fails)
    provider.silent(phone)
    with pytest.raises(DormouseError, match="no table of the league"):
        phone.settle()


def test_a_handler_that_takes_time_ends_at_its_time(dormouse: Dormouse, phone: Device, provider: Provider) -> None:
    phone.handles("push", takes="12s")
    provider.silent(phone)
    assert phone.app().state == "background"
    dormouse.advance("11s")
    assert phone.notifications.last.status == "Woke App"
    dormouse.advance("1m")
    assert phone.notifications.last.status == "Completed", phone.why()
    assert phone.notifications.last.delay == 12


def test_a_handler_that_never_returns_is_killed(dormouse: Dormouse, phone: Device, provider: Provider) -> None:
    phone.handles("push", completes=False)
    provider.silent(phone)
    dormouse.advance("1m")
    assert phone.app().state == "notRunning"
    assert "pushTimeout (0x2182bad4)" in phone.why()
    assert "lifecycle.app.terminated com.example.app" in phone.timeline()


def test_refreshes_come_while_the_user_is_away(dormouse: Dormouse, phone: Device) -> None:
    phone.user.opens()
    phone.app().set_fetch_interval("minimum")
    phone.user.goes_home()
    phone.handles("fetch", result="noData", takes="4s")
    dormouse.advance("1d")
    fetches = phone.app().fetches
    assert len(fetches) > 1, phone.why()
    assert {fetch.result for fetch in fetches} == {"noData"}
    for fetch in fetches:
        assert fetch.started_at is not None and fetch.completed_at is not None
        assert fetch.completed_at - fetch.started_at == timedelta(seconds=4)


def test_low_power_mode_refuses_a_refresh(dormouse: Dormouse, phone: Device) -> None:
    assert phone.app().simulate_fetch().result == "newData"
    phone.user.sets_low_power_mode(True)
    with pytest.raises(Problem, match="low_power_mode"):
        phone.app().simulate_fetch()


def test_a_task_request_runs_on_the_charger(dormouse: Dormouse) -> None:
    phone = dormouse.device().install(APP, modes=["processing"], task_identifiers=["clean"])
    phone.user.opens()
    phone.app().submit_task("clean", kind="processing", requiresExternalPower=True)
    phone.user.goes_home()
    phone.user.locks()
    dormouse.advance("6h")
    assert phone.app().task_runs == []
    phone.set_battery(0.8, charging=True)
    phone.handles("task", result="failure", takes="1m")
    dormouse.advance("1d")
    assert [run.result for run in phone.app().task_runs] == ["failed"], phone.why()


def test_a_background_task_ends_at_its_expiration(dormouse: Dormouse, phone: Device) -> None:
    phone.user.opens()
    phone.app().call("POST", "lifecycle", "/tasks", {"name": "save"})
    phone.user.goes_home()
    assert phone.app().state == "background"
    dormouse.advance("1m")
    assert phone.app().state == "suspended", phone.timeline()


def test_a_leaked_background_task_ends_the_app(dormouse: Dormouse, phone: Device) -> None:
    phone.handles("expiration", completes=False)
    phone.user.opens()
    phone.app().call("POST", "lifecycle", "/tasks", {"name": "save"})
    phone.user.goes_home()
    dormouse.advance("1m")
    assert phone.app().state == "notRunning"
    assert "backgroundTaskTimeout" in phone.why()


def test_a_voip_push_reports_a_call(dormouse: Dormouse, provider: Provider) -> None:
    phone = dormouse.device().install(APP, modes=["voip"])
    phone.user.opens()
    token = phone.app().register("voip")
    phone.user.force_quits()
    provider.send(token, {"caller": "Ada"}, kind="voip", topic=f"{APP}.voip")
    assert phone.notifications.last.status == "Completed", phone.why()
    assert phone.app().state == "suspended"


def test_a_phone_that_was_off_gets_the_last_notification(phone: Device, provider: Provider) -> None:
    phone.user.turns_off()
    provider.alert(phone, "first")
    provider.alert(phone, "second")
    assert [item.status for item in phone.notifications] == ["Replaced By", "Stored – Device Offline"]
    phone.user.turns_on()
    assert [item.status for item in phone.notifications] == ["Replaced By", "Shown"], phone.why()


def test_two_devices_are_independent(dormouse: Dormouse, provider: Provider) -> None:
    first, second = (dormouse.device(profile).install(APP) for profile in ("ios15", "ios26"))
    for phone in (first, second):
        phone.user.opens()
        phone.user.goes_home()
    provider.alert(first)
    assert len(first.notifications) == 1
    assert len(second.notifications) == 0
    with pytest.raises(DormouseError, match="no provider has sent"):
        second.notifications.last  # noqa: B018


def test_downloads_continue_while_the_app_sleeps(dormouse: Dormouse) -> None:
    phone = dormouse.device().install(APP)
    phone.user.opens()
    url = dormouse.publish("films/summer.mp4", b"summer" * 1000)
    on_screen = phone.download(url, save_as="a")
    assert on_screen.wait().content == b"summer" * 1000
    phone.set_network("none")
    asleep = phone.download(url, save_as="b")
    phone.user.goes_home()
    assert phone.app().state == "suspended"
    assert "waitingForConnectivity" in phone.why()
    phone.set_network("wifi")
    assert asleep.wait().content == b"summer" * 1000, phone.why()
    assert asleep.reported


def test_a_missing_file_is_the_result_of_a_download(dormouse: Dormouse) -> None:
    phone = dormouse.device().install(APP)
    phone.user.opens()
    download = phone.download(f"{dormouse.endpoints.transfer}/content/none")
    assert download.wait().status == 404
    assert download.error is None


def test_calls_need_an_app_that_runs(dormouse: Dormouse) -> None:
    phone = dormouse.device().install(APP)
    with pytest.raises(DormouseError, match="has no token yet"):
        phone.token  # noqa: B018
    with pytest.raises(Problem, match="app_not_running"):
        phone.app().register()
    with pytest.raises(DormouseError, match="has no app 'other'"):
        phone.app("other")


def test_the_devices_of_a_test_are_removed(dormouse_suite: Suite) -> None:
    with Dormouse(dormouse_suite) as session:
        phone = session.device().install(APP)
        url = session.publish("a", b"a")
        where = f"/v1/devices/{phone.name}"
        assert "registration" in dormouse_suite.services.call("GET", "lifecycle", where).record
        assert httpx.get(url).content == b"a"
    assert httpx.get(url).status_code == 404
    with pytest.raises(Problem, match="404"):
        dormouse_suite.services.call("GET", "lifecycle", where)
    # The service that is asked may learn a moment later that the token is revoked.
    with pytest.raises(Problem, match="401|404 device_not_registered"):
        phone.settle()


def test_an_advance_ends_at_its_time(dormouse: Dormouse) -> None:
    begin = dormouse.now
    assert dormouse.advance("1h30m") == begin + timedelta(minutes=90)
    assert dormouse.advance_to(begin) == begin + timedelta(minutes=90)
    morning = dormouse.advance_to("07:30")
    assert (morning.hour, morning.minute, morning.second) == (7, 30, 0)
    assert morning - begin < timedelta(days=2)


def test_an_answer_that_never_comes_is_reported(
    dormouse: Dormouse, phone: Device, provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dormouse.settling._PATIENCE", 0.5)
    done = threading.Event()

    def waits(_: Wake) -> None:
        done.wait(20)

    phone.handles("push", work=waits)
    provider.silent(phone)
    try:
        with pytest.raises(NotSettled, match="has not completed the wake for push"):
            dormouse.advance("1m")
    finally:
        done.set()
