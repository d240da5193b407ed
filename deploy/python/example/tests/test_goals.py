"""What phones show and do when the backend sends scores."""

from __future__ import annotations

from scores import APP
from scores.notifier import Notifier

from dormouse import Device, Dormouse


def fan(dormouse: Dormouse, profile: str = "ios26") -> Device:
    """Returns a phone whose user has opened the app once, and gone home."""
    phone = dormouse.device(profile).install(APP, modes=["remote-notification", "fetch"])
    phone.user.opens()
    phone.user.goes_home()
    return phone


def test_a_goal_arrives(dormouse: Dormouse, notifier: Notifier) -> None:
    phone = fan(dormouse)
    notifier.goal([phone.token], "1:0")
    assert phone.notifications.last.status == "Shown", phone.why()


def test_a_goal_in_the_tunnel_arrives_after_it(dormouse: Dormouse, notifier: Notifier) -> None:
    phone = fan(dormouse)
    phone.set_network("none")
    notifier.goal([phone.token], "1:0")
    dormouse.advance("10m")
    assert phone.notifications.last.status == "Stored – Device Offline", phone.why()
    phone.set_network("cellular")
    assert phone.notifications.last.status == "Shown", phone.why()
    assert phone.notifications.last.delay == 600


def test_apps_wake_for_the_table(dormouse: Dormouse, notifier: Notifier) -> None:
    phones = [fan(dormouse), fan(dormouse, "ios15")]
    notifier.refresh([phone.token for phone in phones])
    dormouse.advance("1m")
    for phone in phones:
        assert phone.notifications.last.woke, phone.why()
        assert phone.notifications.last.status == "Completed", phone.why()


def test_a_force_quit_app_does_not_wake(dormouse: Dormouse, notifier: Notifier) -> None:
    phone = fan(dormouse)
    phone.user.force_quits()
    notifier.refresh([phone.token])
    dormouse.advance("1h")
    assert not phone.notifications.last.woke, phone.why()
    assert phone.notifications.last.status.startswith("Discarded"), phone.why()


def test_the_fourth_refresh_within_an_hour_waits(dormouse: Dormouse, notifier: Notifier) -> None:
    phone = fan(dormouse)
    for _ in range(4):
        notifier.refresh([phone.token])
        dormouse.advance("1m")
    assert phone.notifications.last.status == "Held – Silent Budget", phone.why()
    dormouse.advance("1h")
    assert phone.notifications.last.status == "Completed", phone.why()


def test_a_slow_handler_is_killed(dormouse: Dormouse, notifier: Notifier) -> None:
    phone = fan(dormouse)
    phone.handles("push", takes="20s")
    notifier.refresh([phone.token])
    dormouse.advance("1m")
    assert phone.notifications.last.status == "Completed", phone.why()
    phone.handles("push", takes="31s")
    notifier.refresh([phone.token])
    dormouse.advance("1m")
    assert phone.notifications.last.status == "Wake Ended", phone.why()
    assert phone.app().state == "notRunning"
