"""The person who carries a device."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from .authorization import notification_settings
from .notifications import Notification
from .problems import DormouseError
from .records import JSON
from .services import path

if TYPE_CHECKING:
    from .device import Device


class User:
    """Actions of the user. Each returns when the suite and the device have reacted."""

    def __init__(self, device: Device) -> None:
        self._device: Device = device

    def opens(self, app: str | None = None) -> None:
        """Unlocks the device if necessary, and opens an app; the only app by default."""
        opened = self._device.app(app)
        state = self._device.state
        if state.record("conditions").flag("locked"):
            self._device.call("PATCH", "lifecycle", "/conditions", {"locked": False})
        # The user opens an app that has a process, and launches any other.
        now = state.record("apps").record(opened.identifier).text("state")
        if now != "active":
            self._transition(opened.identifier, "launch" if now == "notRunning" else "open")
        opened.launched()
        self._device.settle()

    def goes_home(self) -> None:
        """Goes to the Home Screen. Without an app on screen, nothing happens."""
        app = self._app_on_screen()
        if app is not None:
            self._transition(app, "home")

    def locks(self) -> None:
        """Locks the device."""
        self._device.set_conditions(locked=True)

    def unlocks(self) -> None:
        """Unlocks the device."""
        self._device.set_conditions(locked=False)

    def force_quits(self, app: str | None = None) -> None:
        """Swipes an app away in the app switcher."""
        quitted = self._device.app(app).identifier
        self.goes_home()
        self._device.call("DELETE", "lifecycle", path("app-switcher", quitted))
        self._device.settle()

    def taps(self, notification: Notification) -> None:
        """Taps a shown notification, which opens its app."""
        where = path("notifications", notification.id, "opened")
        self._device.call("POST", "push", where)
        self._device.settle()
        self._device.app(notification.app).launched()
        self._device.settle()

    def turns_off(self) -> None:
        """Switches the device off."""
        self._power("off")

    def turns_on(self) -> None:
        """Switches the device on."""
        self._power("boot")

    def restarts(self) -> None:
        """Restarts the device."""
        self._power("reboot")

    def sets_low_power_mode(self, on: bool) -> None:
        """Switches Low Power Mode."""
        self._device.set_conditions(lowPowerMode=on)

    def allows_notifications(self, allowed: bool, *, app: str | None = None) -> None:
        """Changes the notification setting of an app."""
        self._set(notification_settings(self._device.services, allowed), app)

    def allows_background_refresh(self, allowed: bool, *, app: str | None = None) -> None:
        """Changes Background App Refresh of an app."""
        self._set({"backgroundRefresh": _switch(allowed)}, app)

    def allows_location(
        self, authorization: Literal["denied", "whenInUse", "always", "once"], *, app: str | None = None
    ) -> None:
        """Changes the location authorization of an app."""
        self._set({"locationAuthorization": authorization}, app)

    def uninstalls(self, app: str | None = None) -> None:
        """Uninstalls an app."""
        self._device.call("DELETE", "lifecycle", path("apps", self._device.app(app).identifier))
        self._device.settle()

    def _app_on_screen(self) -> str | None:
        for name, app in self._device.state.entries("apps").items():
            if app.text("state") in ("active", "inactive"):
                return name
        return None

    def _transition(self, app: str, event: str) -> None:
        answer = self._device.call("POST", "lifecycle", path("apps", app, "transitions"), {"event": event})
        if event in ("launch", "open") and answer.record.text("state") == "notRunning":
            raise DormouseError(f"{app} did not start: {answer.record}")
        self._device.settle()

    def _power(self, event: str) -> None:
        self._device.call("POST", "lifecycle", "/power", {"event": event})
        self._device.settle()

    def _set(self, settings: dict[str, JSON], app: str | None) -> None:
        where = path("apps", self._device.app(app).identifier, "settings")
        self._device.call("PUT", "lifecycle", where, settings)
        self._device.settle()


def _switch(on: bool) -> str:
    return "on" if on else "off"
