"""The streams of a device, each in a thread."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Protocol

import httpx

from .problems import DormouseError, Problem
from .records import JSON, Record
from .services import Answer, Event, Services, path


class Connection(Protocol):
    """What the streams and the reactions need of a device."""

    @property
    def name(self) -> str: ...
    @property
    def key(self) -> str: ...
    def call(self, method: str, service: str, where: str, document: JSON = None) -> Answer: ...


class Streams:
    """Threads that follow streams of a device.

    An error in a thread is kept: ``check`` raises it in the test.
    """

    def __init__(self, device: Connection, services: Services) -> None:
        self._device: Connection = device
        self._services: Services = services
        self._closed: threading.Event = threading.Event()
        self._open: dict[str, threading.Event] = {"orders": threading.Event(), "notifications": threading.Event()}
        self._failure: Exception | None = None
        self._threads: list[threading.Thread] = []

    def open(self, *, orders: Callable[[Record], None], notifications: Callable[[Record], None]) -> None:
        """Begins to open both streams.

        Args:
            orders: handles each order of ``lifecycle``.
            notifications: handles each notification of ``push``.
        """
        for arguments in (("lifecycle", "orders", orders), ("push", "notifications", notifications)):
            name = f"{arguments[1]} of {self._device.name}"
            thread = threading.Thread(target=self._follow, args=arguments, daemon=True, name=name)
            self._threads.append(thread)
            thread.start()

    def opened(self) -> None:
        """Returns when both streams are open.

        Raises:
            DormouseError: a stream did not open within 30 s.
        """
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

    def fail(self, error: Exception) -> None:
        """Keeps the first error. After ``closing``, errors do not matter."""
        if not self._closed.is_set() and self._failure is None:
            self._failure = error

    def is_open(self, stream: str) -> bool:
        """Whether the stream ``orders`` or ``notifications`` is connected."""
        return self._open[stream].is_set()

    @property
    def is_current_thread(self) -> bool:
        """Whether the caller is code of an app in a thread of this device. It can't wait for its own end."""
        return threading.current_thread() in self._threads

    def _follow(self, service: str, stream: str, handle: Callable[[Record], None]) -> None:
        """Follows a stream. After a disconnection it resumes after the last event."""
        last: str | None = None
        where = path("v1", "devices", self._device.name, stream)
        while not self._closed.is_set():
            try:
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
                    self.fail(problem)
                    return
            except Exception as error:  # noqa: BLE001 - the test reports an error of its own code, too
                self.fail(error)
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
