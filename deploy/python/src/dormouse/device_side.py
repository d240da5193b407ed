"""The device side: it obeys orders and acknowledges notifications."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from datetime import timedelta

from .behaviour import Extension, Handlers, Wake, completion
from .clock import Clock
from .durations import instant
from .problems import Problem
from .records import JSON, Record
from .services import path
from .streams import Connection, Streams


class DeviceSide:
    """The reactions of a device and its apps to orders and notifications."""

    def __init__(self, device: Connection, streams: Streams, clock: Clock) -> None:
        self.handlers: Handlers = Handlers()
        self.received: dict[str, Record] = {}
        """The notifications that reached the device, by their identifiers."""
        self.reported: set[tuple[str, str, int]] = set()
        """The transfers whose ``didCompleteWithError`` was called: app, session, task."""
        self.sessions: dict[tuple[str, str], dict[str, JSON]] = {}
        """The configuration of each background session, for the next process of the app."""
        self.names: dict[tuple[str, str, int], str] = {}
        """The names under which apps keep their downloads."""
        self.presents: dict[str, Sequence[str]] = {}
        """The options that an app returns from ``willPresent``."""
        self.extensions: dict[str, Extension] = {}
        """The notification service extensions of apps."""
        self.credential: tuple[str, str] | None = None
        self.streams: Streams = streams
        self._device: Connection = device
        self._clock: Clock = clock
        self._held: set[str] = set()
        self._session_wakes: dict[tuple[str, str], list[Wake]] = {}
        self._task_wakes: dict[str, Wake] = {}
        self._connection: int | None = None
        """The opening of the stream of notifications by which the device is connected to `push`."""
        self._lock: threading.RLock = threading.RLock()
        self._begun: int = 0
        self._ended: int = 0

    @property
    def answers(self) -> tuple[int, int]:
        """The numbers of answers that the device has begun and ended to send."""
        with self._lock:
            return self._begun, self._ended

    def holds(self, wake: str) -> bool:
        """Whether the app keeps a wake or a task open on purpose."""
        with self._lock:
            return wake in self._held

    def connected(self, online: bool, ask: Callable[[], bool]) -> bool:
        """Whether `push` reaches the device as far as its network lets it. It asks only after a change."""
        opening = self.streams.connections
        if not online:
            self._connection = None
        elif self._connection != opening:
            if not ask():
                return False
            self._connection = opening
        return True

    # Notifications.

    def receive(self, notification: Record) -> None:
        """Handles a notification that the device gets: acknowledges or presents it."""
        identifier = notification.text("id")
        self.received[identifier] = notification
        where = path("notifications", identifier)
        app, presents = notification.text("app"), notification.flag("willPresent")
        if "extensionDeadline" in notification:
            # The content acknowledges the alert, except for an app on screen.
            extension = self.extensions.get(app)
            content = {} if extension is None else dict(extension(notification.record("payload")))
            answer = self._try("POST", "push", where + "/content", content)
            presents = answer is not None and answer.flag("willPresent")
            if answer is not None and not presents:
                return
        options = list(self.presents.get(app, ()))
        # Without options, and before iOS 10, the app on screen handles the alert, and the device does not show it.
        if (
            presents
            and options
            and self._try("POST", "push", where + "/presentation", {"options": options}) is not None
        ):
            return
        self._try("POST", "push", where + "/ack")

    # Orders.

    def obey(self, order: Record) -> None:
        """Does what an order says."""
        kind, app, data = order.text("type"), order.text("app"), order.record("data")
        if kind == "callback":
            self._called(order, app, data)
        elif kind == "wake":
            self._woken(order, app, data)
        elif kind == "expiration":
            task = data.text("task")
            if self.handlers.find("expiration", app).completes:
                self._try("DELETE", "lifecycle", path("apps", app, "tasks", task))
            else:
                self._hold(task)
        elif kind == "taskExpiration":
            wake = self._task_wakes.pop(data.text("wake"), None)
            if wake is not None and self.handlers.find("taskExpiration", app).completes:
                self._complete(wake, {"success": False})
        elif kind == "challenge":
            self._try("POST", "transfer", path("apps", app, "challenges", data.text("id")), self._disposition())

    def _called(self, order: Record, app: str, data: Record) -> None:
        name, session, task = order.text("name"), data.text("session"), data.integer("task")
        if name == "didFinishDownloadingTo":
            where = path("apps", app, "sessions", session, "tasks", task, "claim")
            key = (app, session, task)
            self._try("POST", "transfer", where, {"name": self.names.get(key, f"{session}-{task}")})
        elif name == "willBeginDelayedRequest":
            where = path("apps", app, "sessions", session, "tasks", task, "delayed-request")
            self._try("POST", "transfer", where, {"disposition": "continueLoading"})
        elif name == "willPerformHTTPRedirection":
            where = path("apps", app, "sessions", session, "tasks", task, "redirect")
            self._try("POST", "transfer", where, {"disposition": "follow"})
        elif order.optional_text("deadline") is not None:
            self._try("POST", "lifecycle", path("apps", app, "callbacks", name, "completion"), {})
        if "didCompleteWithError" in data.texts("callbacks"):
            for number in data.integers("tasks"):
                self.reported.add((app, session, number))
        if "urlSessionDidFinishEvents" in data.texts("callbacks"):
            for wake in self._session_wakes.pop((app, session), []):
                if self._is_open(wake):
                    self._finish(wake)

    def _woken(self, order: Record, app: str, data: Record) -> None:
        wake = Wake(
            id=data.text("wake"),
            app=app,
            reason=data.text("reason"),
            kind=data.text("kind"),
            request=data.optional_text("request"),
            payload=data.record("payload"),
            limit_seconds=data.number("limitSeconds"),
        )
        if wake.reason in ("voip", "pushToTalk") and wake.request is not None:
            # The app gets the push with its wake. The stream of notifications may be later than this order.
            self._try("POST", "push", path("notifications", wake.request, "ack"))
        handler = self.handlers.find(wake.reason, app)
        if not handler.completes:
            self._hold(wake.id)
            return
        if wake.reason == "transfer" and wake.request is not None:
            # The app creates its session again. Its wake ends after the last event of the session.
            self._session_wakes.setdefault((app, wake.request), []).append(wake)
            configuration = self.sessions.get((app, wake.request), {})
            self._try("PUT", "transfer", path("apps", app, "sessions", wake.request), configuration)
            return
        if wake.reason == "task":
            self._task_wakes[wake.id] = wake
        if handler.takes > 0:
            self._hold(wake.id)
            due = instant(order.text("issuedAt")) + timedelta(seconds=handler.takes)
            self._clock.schedule(due, lambda: self._finish_later(wake))
        else:
            self._finish(wake)

    def _finish_later(self, wake: Wake) -> None:
        """Finishes a wake in whichever thread the clock uses, unless the system has ended the wake before."""
        try:
            if self._is_open(wake):
                self._finish(wake)
        except Exception as error:  # noqa: BLE001 - the test reports it, as in the other threads
            self.streams.fail(self._device.name, error)

    def _is_open(self, wake: Wake) -> bool:
        try:
            state = self._device.call("GET", "lifecycle", path("apps", wake.app)).record
        except Problem as problem:
            if problem.status != 404:  # The app was uninstalled.
                raise
            return False
        return wake.id in state.record("wakes")

    def _finish(self, wake: Wake) -> None:
        """Runs the code of the app, and completes the wake."""
        handler = self.handlers.find(wake.reason, wake.app)
        result = handler.work(wake) if handler.work is not None else None
        document = completion(wake.reason, wake.kind, result or handler.result)
        if wake.reason == "voip":
            # From iOS 13, each VoIP push must report a call. This call ends at once.
            self._try("POST", "lifecycle", path("apps", wake.app, "activities", "voip"), {})
        self._complete(wake, document)
        if wake.reason == "voip":
            self._try("DELETE", "lifecycle", path("apps", wake.app, "activities", "voip"))

    def _complete(self, wake: Wake, document: dict[str, str | bool]) -> None:
        with self._lock:
            self._held.discard(wake.id)
        self._task_wakes.pop(wake.id, None)
        self._try("POST", "lifecycle", path("apps", wake.app, "wakes", wake.id, "completion"), document)

    def _hold(self, identifier: str) -> None:
        with self._lock:
            self._held.add(identifier)

    def _disposition(self) -> JSON:
        if self.credential is None:
            return {"disposition": "performDefaultHandling"}
        user, password = self.credential
        return {"disposition": "useCredential", "credential": {"user": user, "password": password}}

    def _try(self, method: str, service: str, where: str, document: JSON = None) -> Record | None:
        """Sends an answer, and returns the response; None if it was refused.

        The service refuses an answer that comes too late, for example after the end of the process.
        """
        with self._lock:
            self._begun += 1
        try:
            return self._device.call(method, service, where, document).record
        except Problem as problem:
            if problem.status not in (404, 409, 410, 412):
                raise
            return None
        finally:
            with self._lock:
                self._ended += 1
