"""The clock of a suite."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime

from .durations import instant
from .problems import DormouseError
from .records import JSON
from .services import Services

_PATIENCE = 30
# The suite answers an advance at its end. A repeated request goes on to the same time.
_LONGEST = 600.0


@dataclass(order=True)
class _Work:
    due: datetime
    run: Callable[[], None] = field(compare=False)


class Clock:
    """The time of the suite, and work of devices at a later time."""

    def __init__(self, services: Services) -> None:
        self._services: Services = services
        self._lock: threading.Lock = threading.Lock()
        self._works: list[_Work] = []
        self._is_virtual: bool | None = None

    @property
    def now(self) -> datetime:
        """The time of the suite, in UTC."""
        return instant(self._services.call("GET", "ops", "/v1/clock").record.text("now"))

    @property
    def is_virtual(self) -> bool:
        """Whether the time of the suite can be frozen and advanced."""
        if self._is_virtual is None:
            self._is_virtual = self._services.call("GET", "ops", "/v1/clock").record.flag("virtual")
        return self._is_virtual

    def freeze(self) -> None:
        """Stops a virtual clock: only ``step`` moves it. Real time stays as it is."""
        if self.is_virtual:
            self._services.call("PUT", "ops", "/v1/clock", {"frozen": True})

    def step(self, seconds: float) -> datetime:
        """Advances the clock to the next deadline of a service, at most by some seconds.

        It waits until all services have settled, and for no device. 0 only waits.

        Raises:
            DormouseError: the time of the suite is real.
            Problem: a service did not settle within 30 s; the detail names it.
        """
        return self._advance(seconds, {"steps": 1, "waitForDevices": 0})[0]

    def advance(self, seconds: float) -> tuple[datetime, list[str]]:
        """Advances the clock. At each deadline the suite waits for the answers of connected devices.

        Raises:
            DormouseError: the time of the suite is real.
            Problem: a service did not settle within 30 s; the detail names it.

        Returns:
            the time, and the names of devices that did not answer within 30 s of real time.
        """
        return self._advance(seconds, {"waitForDevices": _PATIENCE})

    def _advance(self, seconds: float, options: dict[str, JSON]) -> tuple[datetime, list[str]]:
        if not self.is_virtual:
            raise DormouseError("the time of this suite is real: start it with ./deploy/up --virtual-time")
        document: dict[str, JSON] = {"seconds": round(seconds, 3), **options}
        answer = self._services.call("POST", "ops", "/v1/clock/advance", document, timeout=_LONGEST).record
        return instant(answer.text("now")), answer.texts("unanswered")

    def wait(self) -> datetime:
        """Waits until all services have read the whole log, and returns the time of the suite."""
        if self.is_virtual:
            return self.step(0)
        while any(
            item.integer("lag") > 0 for item in self._services.call("GET", "ops", "/v1/consumers").record.records()
        ):
            time.sleep(0.01)
        return self.now

    def schedule(self, due: datetime, run: Callable[[], None]) -> None:
        """Runs a function when the suite has reached a time."""
        if self.is_virtual:
            with self._lock:
                self._works.append(_Work(due, run))
            return
        timer = threading.Timer(max(0, (due - self.now).total_seconds()), run)
        timer.daemon = True
        timer.start()

    @property
    def next_work(self) -> datetime | None:
        """The time of the next scheduled work."""
        with self._lock:
            return min(self._works).due if self._works else None

    def run_due(self, now: datetime) -> bool:
        """Runs the work that is due, in the order of time. Returns false if there is none."""
        with self._lock:
            due = sorted(work for work in self._works if work.due <= now)
            self._works = [work for work in self._works if work.due > now]
        for work in due:
            work.run()
        return bool(due)

    def forget_work(self) -> None:
        """Drops all scheduled work, at the end of a test."""
        with self._lock:
            self._works = []
