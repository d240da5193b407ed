"""What the code of an app does when the system wakes it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

from .durations import Duration, seconds
from .records import JSON, Record

WakeReason = Literal["fetch", "push", "task", "transfer", "location", "voip", "bluetooth", "health"]
Result = Literal["newData", "noData", "failed", "success", "failure", "activeRemoteParticipant", "leaveChannel"]


@dataclass(frozen=True)
class BuiltIn:
    """A device that the suite itself answers for, in suite time, so that the test needs no client for it."""

    answers_after: Duration = 1
    """How long each handler runs, at most an hour. One that takes longer than its limit misses it."""
    result: Literal["newData", "noData", "failed"] = "newData"
    online: bool = True
    """Whether the device is connected to `push` whenever it has power and a network."""
    opens: Literal["never", "atOnce"] = "never"
    """Whether the person opens each notification as soon as the device shows it."""
    transfers: Mapping[str, JSON] | None = None
    """The rates and sizes of transfers without a server, as ``simulate.transfers`` of a registration."""

    @property
    def document(self) -> dict[str, JSON]:
        """The member ``simulate`` of a registration."""
        answers: dict[str, JSON] = {"after": seconds(self.answers_after), "result": self.result}
        document: dict[str, JSON] = {"answers": answers, "online": self.online, "opens": self.opens}
        if self.transfers is not None:
            document["transfers"] = self.transfers
        return document


@dataclass(frozen=True)
class Wake:
    """A wake of an app in the background."""

    id: str
    app: str
    reason: str
    kind: str
    request: str | None
    """The refresh, task request, notification or session that asked for the wake."""
    payload: Record
    """The payload of the push, if a push caused the wake."""
    limit_seconds: float


Work = Callable[[Wake], Result | None]
"""Code of the app in a wake. A returned result replaces the configured one."""


Extension = Callable[[Record], Mapping[str, JSON]]
"""A notification service extension: it gets the payload and returns the changed content; an empty one changes nothing."""


@dataclass(frozen=True)
class Handler:
    """The reaction of an app to a wake."""

    result: Result | None = None
    takes: float = 0
    completes: bool = True
    work: Work | None = None


class Handlers:
    """The reactions of the apps of a device. It is used by the test and by the threads of the device."""

    def __init__(self) -> None:
        self._lock: threading.Lock = threading.Lock()
        self._handlers: dict[tuple[str | None, str], Handler] = {}

    def set(
        self,
        reason: str,
        app: str | None,
        result: Result | None,
        takes: Duration,
        completes: bool,
        work: Work | None,
    ) -> None:
        """Sets the reaction to a reason; for all apps if ``app`` is None."""
        handler = Handler(result, seconds(takes), completes, work)
        with self._lock:
            self._handlers[(app, reason)] = handler

    @property
    def may_hold(self) -> bool:
        """Whether an app keeps a wake or a task open on purpose."""
        with self._lock:
            return any(handler.takes > 0 or not handler.completes for handler in self._handlers.values())

    def find(self, reason: str, app: str) -> Handler:
        """Returns the reaction of an app: its own, that of all apps, or an immediate completion."""
        with self._lock:
            return self._handlers.get((app, reason)) or self._handlers.get((None, reason)) or Handler()


def completion(reason: str, kind: str, result: Result | None) -> dict[str, str | bool]:
    """Returns the document with which an app completes a wake.

    Raises:
        ValueError: the result does not fit the reason.
    """
    if kind == "pushToTalk":
        return {"pushResult": _one_of(result or "leaveChannel", ("activeRemoteParticipant", "leaveChannel"), kind)}
    if reason in ("fetch", "push"):
        return {"result": _one_of(result or "newData", ("newData", "noData", "failed"), reason)}
    if reason == "task":
        return {"success": _one_of(result or "success", ("success", "failure"), reason) == "success"}
    return {}


def _one_of(result: str, allowed: tuple[str, ...], reason: str) -> str:
    if result not in allowed:
        raise ValueError(f"{result!r} is no result of a wake for {reason}: use {', '.join(allowed)}")
    return result
