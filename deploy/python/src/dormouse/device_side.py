"""The device side of the connection: it obeys orders and acknowledges notifications, in threads."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Protocol

import httpx

from .behaviour import Handlers, Wake, completion
from .clock import Clock
from .durations import instant
from .problems import DormouseError, Problem
from .records import JSON, Record
from .services import Answer, Event, Services, path


class Connection(Protocol):
    """What the device side needs of a device."""

    @property
    def name(self) -> str: ...
    @property
    def key(self) -> str: ...
    def call(self, method: str, service: str, where: str, document: JSON = None) -> Answer: ...


class DeviceSide:
    """Two threads with the streams of a device, and the reactions of its apps.

    An error in a thread is kept in ``failure``: ``check`` raises it in the test.
    """

    def __init__(self, device: Connection, services: Services, clock: Clock) -> None:
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
        self.credential: tuple[str, str] | None = None
        self._device: Connection = device
        self._services: Services = services
        self._clock: Clock = clock
        self._held: set[str] = set()
        self._session_wakes: dict[tuple[str, str], list[Wake]] = {}
        self._task_wakes: dict[str, Wake] = {}
        self._lock: threading.RLock = threading.RLock()
        self._closed: threading.Event = threading.Event()
        self._open: dict[str, threading.Event] = {"orders": threading.Event(), "notifications": threading.Event()}
        self._begun: int = 0
        self._ended: int = 0
        self._failure: Exception | None = None
        self._threads: list[threading.Thread] = []

    def start(self) -> None:
        """Opens both streams, and returns when they are open.

        Raises:
            DormouseError: a stream did not open within 30 s.
        """
        for service, stream, obey in (("lifecycle", "orders", self.obey), ("push", "notifications", self.receive)):
            arguments = (service, stream, obey)
            thread = threading.Thread(target=self._follow, args=arguments, daemon=True, name=f"{stream} of device")
            self._threads.append(thread)
            thread.start()
        for stream, opened in self._open.items():
            if not opened.wait(30):
                self.check()
                raise DormouseError(f"the stream of {stream} of {self._device.name} did not open within 30 s")

    def closing(self) -> None:
        """Announces the removal of the device, which ends the streams."""
        self._closed.set()

    def close(self) -> None:
        """Waits for the end of the threads."""
        for thread in self._threads:
            thread.join(timeout=5)

    def check(self) -> None:
        """Raises the error of a thread, if any."""
        if self._failure is not None:
            raise DormouseError(f"device {self._device.name}: {self._failure}") from self._failure

    def is_open(self, stream: str) -> bool:
        """Whether the stream ``orders`` or ``notifications`` is connected."""
        return self._open[stream].is_set()

    @property
    def answers(self) -> tuple[int, int]:
        """The numbers of answers that the device has begun and ended to send."""
        with self._lock:
            return self._begun, self._ended

    @property
    def is_current_thread(self) -> bool:
        """Whether the caller is code of an app in a thread of this device. It can't wait for its own end."""
        return threading.current_thread() in self._threads

    def holds(self, wake: str) -> bool:
        """Whether the app keeps a wake or a task open on purpose."""
        with self._lock:
            return wake in self._held

    def _follow(self, service: str, stream: str, handle: Callable[[Record], None]) -> None:
        """Follows a stream. After a disconnection it resumes after the last event."""
        last: str | None = None
        while not self._closed.is_set():
            try:
                where = path("v1", "devices", self._device.name, stream)
                # `push` repeats unacknowledged notifications by itself.
                after = last if stream == "orders" else None
                with self._services.stream(service, where, key=self._device.key, after=after) as events:
                    for event in events:
                        last = self._take(event, stream, handle) or last
            except httpx.TransportError:
                pass
            except Problem as problem:
                # 409: the device is off or has no network.
                if problem.status != 409:
                    self._fail(problem)
                    return
            except Exception as error:  # noqa: BLE001 - the test reports an error of its own code, too
                self._fail(error)
                return
            finally:
                self._open[stream].clear()
            time.sleep(0.05)

    def _take(self, event: Event, stream: str, handle: Callable[[Record], None]) -> str | None:
        if event.comment == "open":
            self._open[stream].set()
        elif event.comment is None:
            handle(event.data)
        return event.id

    def _fail(self, error: Exception) -> None:
        if not self._closed.is_set() and self._failure is None:
            self._failure = error

    # Notifications.

    def receive(self, notification: Record) -> None:
        """Handles a notification that the device gets: acknowledges or presents it."""
        identifier = notification.text("id")
        self.received[identifier] = notification
        where = path("notifications", identifier)
        options = list(self.presents.get(notification.text("app"), ()))
        # Without options, and before iOS 10, the app on screen handles the alert, and the device does not show it.
        presents = bool(options) and notification.flag("willPresent")
        if not presents or not self._try("POST", "push", where + "/presentation", {"options": options}):
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
            self._fail(error)

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

    def _try(self, method: str, service: str, where: str, document: JSON = None) -> bool:
        """Sends an answer, and returns whether it was accepted.

        The service refuses one that comes too late, for example after the end of the process.
        """
        with self._lock:
            self._begun += 1
        try:
            self._device.call(method, service, where, document)
            return True
        except Problem as problem:
            if problem.status not in (404, 409, 410, 412):
                raise
            return False
        finally:
            with self._lock:
                self._ended += 1
