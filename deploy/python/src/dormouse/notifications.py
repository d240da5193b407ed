"""The notifications that a provider sent to the apps of a device."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, overload

from .durations import instant
from .problems import DormouseError
from .records import Record
from .services import path

if TYPE_CHECKING:
    from .app import App

IN_FLIGHT = ("Delivered", "Delivered From Storage")
"""The statuses of a notification that is on its way to the device."""


@dataclass(frozen=True)
class Status:
    """A step in the life of a notification."""

    at: datetime
    status: str
    cause: str | None
    until: datetime | None
    """The end of a wait, if the notification waits."""

    def __str__(self) -> str:
        cause = f" ({self.cause})" if self.cause else ""
        until = f", until {self.until:%Y-%m-%d %H:%M:%S}" if self.until else ""
        return f"{self.at:%H:%M:%S} {self.status}{cause}{until}"


@dataclass(frozen=True, repr=False)
class Notification:
    """A notification, as it was when the test read it."""

    id: str
    """Its ``apns-unique-id``."""
    apns_id: str
    app: str
    push_type: str
    priority: int
    status: str
    """``Shown`` if the device shows it; otherwise its latest status at ``push``, for example ``Completed``,
    ``Held – Silent Budget`` or ``Discarded – Expired``."""
    shown: bool
    """Whether the device shows it now."""
    received_at: datetime
    """When ``push`` received it from the provider."""
    at: datetime
    """The time of its latest status."""
    statuses: tuple[Status, ...]
    payload: Record | None
    """The payload, if it reached the device."""

    @property
    def woke(self) -> bool:
        """Whether it woke the app."""
        return any(step.status == "Woke App" for step in self.statuses)

    @property
    def delay(self) -> float:
        """The seconds of suite time from the provider's call to the latest status."""
        return (self.at - self.received_at).total_seconds()

    def __repr__(self) -> str:
        return f"<Notification {self.push_type} {self.id}: {self.status}>"

    def __str__(self) -> str:
        steps = "; ".join(str(step) for step in self.statuses)
        return f"{self.push_type} {self.id}: {self.status}: {steps}"


class Notifications(Sequence[Notification]):
    """Notifications, the oldest first. They are read when the test asks for them."""

    def __init__(self, items: Sequence[Notification]) -> None:
        self._items: list[Notification] = list(items)

    @staticmethod
    def of(apps: Sequence[App]) -> Notifications:
        """Reads the last 100 notifications of each app."""
        items = [item for app in apps for item in _read(app)]
        return Notifications(sorted(items, key=lambda item: item.received_at))

    @overload
    def __getitem__(self, index: int) -> Notification: ...
    @overload
    def __getitem__(self, index: slice) -> Notifications: ...
    def __getitem__(self, index: int | slice) -> Notification | Notifications:
        if isinstance(index, slice):
            return Notifications(self._items[index])
        return self._items[index]

    def __len__(self) -> int:
        return len(self._items)

    def __iter__(self) -> Iterator[Notification]:
        return iter(self._items)

    def __repr__(self) -> str:
        return f"<Notifications {self._items}>"

    @property
    def last(self) -> Notification:
        """The latest notification.

        Raises:
            DormouseError: there is none.
        """
        if not self._items:
            raise DormouseError("no provider has sent a notification to this device")
        return self._items[-1]

    @property
    def shown(self) -> Notifications:
        """The notifications that the device shows now."""
        return Notifications([item for item in self._items if item.shown])

    def with_id(self, identifier: str) -> Notification:
        """Returns a notification by its ``apns-id`` or ``apns-unique-id``.

        Raises:
            DormouseError: there is none.
        """
        for item in self._items:
            if identifier.lower() in (item.id.lower(), item.apns_id.lower()):
                return item
        raise DormouseError(f"no notification {identifier}; there are {[item.apns_id for item in self._items]}")


def latest(app: App, limit: int) -> list[Record]:
    """Returns the latest notifications of an app as ``push`` lists them, the newest first."""
    where = path("apps", app.identifier, "notifications") + f"?limit={limit}"
    return app.device.call("GET", "push", where).record.records()


def _read(app: App) -> list[Notification]:
    items = latest(app, 100)
    if not items:
        return []
    device = app.device
    where = path("v1", "devices", device.name, "state") + "?service=push"
    state = device.services.call("GET", "ops", where).record.record("state")
    shown = {item.text("id") for item in state.records("shown")}
    return [_notification(app, item, item.text("id") in shown) for item in reversed(items)]


def _notification(app: App, item: Record, shown: bool) -> Notification:
    identifier = item.text("id")
    life = app.device.services.call("GET", "push", path("v1", "notifications", identifier)).record
    received = app.device.side.received.get(identifier)
    return Notification(
        id=identifier,
        apns_id=item.text("apnsID"),
        app=app.identifier,
        push_type=item.text("pushType"),
        priority=item.integer("priority"),
        status="Shown" if shown else item.text("status"),
        shown=shown,
        received_at=instant(item.text("receivedAt")),
        at=instant(item.text("at")),
        statuses=tuple(_status(step) for step in life.records("statuses")),
        payload=None if received is None else received.record("payload"),
    )


def _status(step: Record) -> Status:
    until = step.optional_text("until")
    return Status(
        at=instant(step.text("at")),
        status=step.text("status"),
        cause=step.optional_text("cause"),
        until=None if until is None else instant(until),
    )
