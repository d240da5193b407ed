"""The two streams of a fleet, and the threads that do what they say."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Protocol

import httpx

from .problems import DormouseError, Problem
from .records import JSON, Record
from .services import Answer, Event, Services, path

_WORKERS = 8


class Connection(Protocol):
    """What the reactions need of a device."""

    @property
    def name(self) -> str: ...
    @property
    def key(self) -> str: ...
    def call(self, method: str, service: str, where: str, document: JSON = None) -> Answer: ...


class Receiver(Protocol):
    """What a device does with its orders and notifications."""

    def obey(self, order: Record) -> None: ...
    def receive(self, notification: Record) -> None: ...


class _Queue:
    """Work that runs in its order, one item at a time, in the threads of a pool."""

    def __init__(self, pool: ThreadPoolExecutor) -> None:
        self._pool: ThreadPoolExecutor = pool
        self._lock: threading.Lock = threading.Lock()
        self._works: deque[Callable[[], None]] = deque()
        self._runs: bool = False

    def add(self, work: Callable[[], None]) -> None:
        with self._lock:
            self._works.append(work)
            if self._runs:
                return
            self._runs = True
        self._pool.submit(self._run)

    def _run(self) -> None:
        while True:
            with self._lock:
                if not self._works:
                    self._runs = False
                    return
                work = self._works.popleft()
            work()


class Streams:
    """Follows the orders and the notifications of all devices of a fleet that have a client.

    The orders of a device are obeyed one after another, and so are its notifications. An error in a thread is kept:
    ``check`` raises it in the test.
    """

    def __init__(self, services: Services, fleet: str) -> None:
        self._services: Services = services
        self._fleet: str = fleet
        self._closed: threading.Event = threading.Event()
        self._open: dict[str, threading.Event] = {"orders": threading.Event(), "notifications": threading.Event()}
        self._failure: Exception | None = None
        self._threads: list[threading.Thread] = []
        self._pool: ThreadPoolExecutor = ThreadPoolExecutor(_WORKERS, f"devices of {fleet}")
        self._receivers: dict[str, Receiver] = {}
        self._queues: dict[tuple[str, str], _Queue] = {}
        self._lock: threading.Lock = threading.Lock()
        self._current: threading.local = threading.local()
        self._connections: int = 0

    def add(self, device: str, receiver: Receiver) -> None:
        """Lets a device get its orders and notifications. The first device opens the streams.

        Raises:
            DormouseError: a stream did not open within 30 s.
        """
        with self._lock:
            self._receivers[device] = receiver
            begins = not self._threads
            if begins:
                for service, stream in (("lifecycle", "orders"), ("push", "notifications/stream")):
                    thread = threading.Thread(
                        target=self._follow, args=(service, stream), daemon=True, name=f"{stream} of {self._fleet}"
                    )
                    self._threads.append(thread)
                    thread.start()
        for name, opened in self._open.items():
            if not opened.wait(30):
                self.check()
                raise DormouseError(f"the stream of {name} of {self._fleet} did not open within 30 s")

    def remove(self, device: str) -> None:
        """Drops a device, which the suite no longer has."""
        with self._lock:
            self._receivers.pop(device, None)

    def closing(self) -> None:
        """Announces the removal of the devices. Errors do not matter any more."""
        self._closed.set()

    def close(self) -> None:
        """Ends the threads, as far as they do not wait for the suite."""
        self._closed.set()
        self._pool.shutdown(wait=False, cancel_futures=True)

    def check(self) -> None:
        """Raises the error of a thread, if any."""
        if self._failure is not None:
            raise DormouseError(f"{self._failure}") from self._failure

    def fail(self, device: str, error: Exception) -> None:
        """Keeps the first error. After ``closing``, errors do not matter."""
        if not self._closed.is_set() and self._failure is None:
            self._failure = DormouseError(f"device {device}: {error}")
            self._failure.__cause__ = error

    def is_open(self, stream: str) -> bool:
        """Whether the stream ``orders`` or ``notifications`` is connected."""
        return self._open[stream].is_set()

    @property
    def connections(self) -> int:
        """How many times the stream of notifications was opened. Each time, all devices connect again."""
        return self._connections

    @property
    def is_current_thread(self) -> bool:
        """Whether the caller is code of an app in a thread of these devices. It can't wait for its own end."""
        return getattr(self._current, "works", False)

    def _follow(self, service: str, stream: str) -> None:
        """Follows a stream. After a disconnection it resumes after the last event."""
        last: str | None = None
        name = stream.partition("/")[0]
        where = path("v1", "fleets", self._fleet) + "/" + stream
        while not self._closed.is_set():
            try:
                with self._services.stream(service, where, after=last) as events:
                    for event in events:
                        if self._closed.is_set():
                            return
                        self._take(event, name)
                        last = event.id or last
            except httpx.TransportError:
                pass
            except Exception as error:  # noqa: BLE001 - the test reports it
                if isinstance(error, Problem) and error.code == "earlier_incarnation":
                    # `Suite.restore` has returned to an earlier log. The new stream begins at its end.
                    last = None
                elif not (isinstance(error, Problem) and error.status in (429, 503)):
                    self.fail(self._fleet, error)
                    return
            finally:
                self._open[name].clear()
            time.sleep(0.05)

    def _take(self, event: Event, stream: str) -> None:
        if event.comment == "open":
            if stream == "notifications":
                self._connections += 1
            self._open[stream].set()
        elif event.comment is None:
            self.deliver(stream, event.data)

    def deliver(self, stream: str, data: Record) -> None:
        """Gives an order or a notification to its device. Built-in devices have no receiver."""
        device = data.text("device")
        with self._lock:
            receiver = self._receivers.get(device)
            if receiver is None:
                return
            queue = self._queues.setdefault((device, stream), _Queue(self._pool))
        handle = receiver.obey if stream == "orders" else receiver.receive
        queue.add(lambda: self._handle(device, handle, data))

    def _handle(self, device: str, handle: Callable[[Record], None], data: Record) -> None:
        self._current.works = True
        try:
            handle(data)
        except Exception as error:  # noqa: BLE001 - the test reports an error of its own code, too
            self.fail(device, error)
        finally:
            self._current.works = False
