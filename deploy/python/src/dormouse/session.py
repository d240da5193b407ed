"""The part of a suite that belongs to one test."""

from __future__ import annotations

import itertools
import uuid
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta

from .behaviour import BuiltIn
from .device import Device
from .durations import Duration, next_time, rfc3339, seconds
from .problems import DormouseError, NotSettled
from .records import JSON, Record
from .services import Answer, Endpoints, path
from .settling import latest_events, settle
from .streams import Streams
from .suite import Suite

_REPORTED = 5


class Dormouse:
    """A fleet of devices of its own in a suite. ``close``, or the end of a ``with``, removes the devices.

    Attributes:
        suite: the running suite.
        fleet: the name of the fleet, which no other test has.
    """

    def __init__(self, suite: Suite, fleet: str | None = None) -> None:
        self.suite: Suite = suite
        self.fleet: str = fleet or f"test-{uuid.uuid4().hex[:10]}"
        self._devices: list[Device] = []
        self._published: list[str] = []
        self._streams: Streams = Streams(suite.services, self.fleet)
        self._numbers: itertools.count[int] = itertools.count(1)

    def __enter__(self) -> Dormouse:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def endpoints(self) -> Endpoints:
        """The addresses of the services, for example of ``apns`` for your provider."""
        return self.suite.endpoints

    @property
    def headers(self) -> dict[str, str]:
        """The header with which a client of ``transfer`` may upload, for example a client of tus."""
        return {"Authorization": f"Bearer {self.endpoints.operator_key}"}

    @property
    def devices(self) -> list[Device]:
        """The devices of the test."""
        return list(self._devices)

    def device(
        self, profile: str = "ios26", *, time_zone: str | None = None, built_in: BuiltIn | None = None
    ) -> Device:
        """Registers a device that is on, unlocked, on Wi-Fi and fully charged.

        Args:
            profile: the generation of iOS, for example ``ios15``.
            time_zone: its time zone, for example ``Europe/Berlin``; UTC by default.
            built_in: lets the suite answer for it, in suite time. Without it, this process does.
        """
        return self.make_devices(1, profile, time_zone=time_zone, built_in=built_in)[0]

    def make_devices(
        self, count: int, profile: str = "ios26", *, time_zone: str | None = None, built_in: BuiltIn | None = None
    ) -> list[Device]:
        """Registers many devices at once. They are like those of ``device``.

        Args:
            count: the number of devices.
            profile: the generation of iOS, for example ``ios15``.
            time_zone: their time zone, for example ``Europe/Berlin``; UTC by default.
            built_in: lets the suite answer for them.
        """
        names = [f"{self.fleet}-{next(self._numbers)}" for _ in range(count)]
        devices = Device.register(
            names, profile, self.fleet, self.suite, self._streams, time_zone=time_zone, built_in=built_in
        )
        self._devices += devices
        return devices

    def set_conditions(self, **conditions: JSON) -> None:
        """Changes conditions of all devices, as ``PATCH …/conditions`` of ``lifecycle`` describes them."""
        where = path("v1", "fleets", self.fleet, "conditions")
        answer = self.suite.services.call("PATCH", "lifecycle", where, conditions)
        for line in map(Record.parse, answer.content.splitlines()):
            if line.integer("status") >= 400:
                raise DormouseError(f"{line.text('device')}: {line.text('detail') or line.text('title')}")
        self.settle()

    def publish(self, name: str, content: bytes) -> str:
        """Puts a file on the origin server of the suite, and returns its URL. Reading it needs no credential."""
        where = path("content", self.fleet, *name.split("/"))
        self.suite.services.call("PUT", "transfer", where, content=content)
        self._published.append(where)
        return self.endpoints.transfer + where

    # Time.

    @property
    def now(self) -> datetime:
        """The time of the suite, in UTC."""
        return self.suite.clock.now

    def settle(self) -> None:
        """Waits until all services have settled and all devices have answered all their orders."""
        settle(self.suite.clock, self._devices)

    def advance(self, duration: Duration) -> datetime:
        """Advances the time of the suite, and returns it.

        The clock stops at each deadline, and goes on when the devices of the test have answered. Built-in devices
        answer by themselves, so they need no stop.

        Args:
            duration: for example ``"10m"``, or a number of seconds.

        Raises:
            NotSettled: a device did not answer within 30 s of real time.
        """
        return self.advance_to(self.now + timedelta(seconds=seconds(duration)))

    def advance_to(self, time: datetime | str) -> datetime:
        """Advances the time of the suite.

        Args:
            time: a time with a time zone, of which an earlier one changes nothing; or a time of day in UTC such as
                ``"07:30"``, which means the next one.
        """
        if isinstance(time, str):
            time = next_time(time, self.now)
        clock = self.suite.clock
        if not clock.is_virtual:
            raise DormouseError("the time of this suite is real: start it with ./deploy/up --virtual-time")
        rfc3339(time)
        self.settle()
        now = clock.now
        while now < time:
            begin = now
            if self._may_hold:
                stop = min(time, clock.next_work or time)
                # The suite counts milliseconds.
                now = clock.step(max((stop - now).total_seconds(), 0.001))
                if clock.run_due(now):
                    clock.wait()
            else:
                now, unanswered = clock.advance(max((time - now).total_seconds(), 0.001))
                slow = sorted({device.name for device in self._devices}.intersection(unanswered))
                if slow:
                    raise NotSettled(f"no answer within 30 s of real time: {', '.join(slow)}")
            self._settle_since(begin)
        return now

    @property
    def _may_hold(self) -> bool:
        """Whether an app keeps a wake open on purpose. The suite would wait for its end while the clock stands."""
        return self.suite.clock.next_work is not None or any(device.side.handlers.may_hold for device in self._devices)

    def _settle_since(self, begin: datetime) -> None:
        """Settles the devices that have events since a time.

        An answer is an event, and code in a wake may push to another device. So it ends when no device has a new event.
        """
        live = [device for device in self._devices if device.built_in is None]
        seen: dict[str, str] = {}
        while live:
            latest = latest_events(self.suite.services, begin, self.fleet)
            changed = [device for device in live if latest.get(device.name) != seen.get(device.name)]
            if not changed:
                return
            settle(self.suite.clock, changed)
            seen = latest

    # The end.

    def report(self, first: Sequence[Device] = ()) -> list[tuple[str, str]]:
        """Returns titles and texts about devices, for the message of a failure.

        Args:
            first: the devices that the failed code names. They come first, because a message has few of many devices.
        """
        devices = list(dict.fromkeys([*(device for device in first if device in self._devices), *self._devices]))
        sections: list[tuple[str, str]] = []
        for device in devices[:_REPORTED]:
            sections.append((f"Dormouse: why, {device.name}", _tried(device.why)))
            sections.append((f"Dormouse: timeline of {device.name}", _tried(device.timeline)))
        if len(devices) > _REPORTED:
            rest = f"{len(devices) - _REPORTED} other devices of {self.fleet} are not shown: see Device.why()"
            sections.append(("Dormouse: other devices", rest))
        return sections

    def close(self) -> None:
        """Removes the devices and the published files. The log keeps their events."""
        self.suite.clock.forget_work()
        errors: list[str] = []
        self._streams.closing()
        try:
            while self._devices and self._remove().status == 202:
                pass
        except DormouseError as error:
            errors.append(str(error))
        self._streams.close()
        for where in self._published:
            try:
                self.suite.services.call("DELETE", "transfer", where)
            except DormouseError as error:
                errors.append(str(error))
        self._devices = []
        self._published = []
        if errors:
            raise DormouseError("; ".join(errors))

    def _remove(self) -> Answer:
        """Removes the devices of the fleet. The status is 202 if some are left."""
        answer = self.suite.services.call("DELETE", "lifecycle", path("v1", "fleets", self.fleet))
        for fault in answer.record.records("faults"):
            raise DormouseError(f"{fault.text('device')} was not removed: {fault.text('detail') or fault.text('code')}")
        return answer


def _tried(text: Callable[[], str]) -> str:
    """Returns a text, or the reason why there is none: it must not hide the failure of the test."""
    try:
        return text()
    except DormouseError as error:
        return f"not available: {error}"
