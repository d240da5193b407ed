"""The clock, with a transport that answers in the place of `ops`."""

from __future__ import annotations

import json
from datetime import datetime, timedelta, timezone
from functools import partial

import httpx
import pytest

from dormouse import DormouseError
from dormouse.clock import Clock
from dormouse.services import Services

from .test_services import ENDPOINTS

NOW = datetime(2026, 11, 21, 7, 40, tzinfo=timezone.utc)


class Ops:
    """Answers of `ops` about the clock and the consumers."""

    def __init__(self, *, virtual: bool) -> None:
        self.virtual: bool = virtual
        self.now: datetime = NOW
        self.lags: list[int] = [3, 1, 0]
        self.advances: list[float] = []
        self.bodies: list[dict[str, object]] = []

    def __call__(self, request: httpx.Request) -> httpx.Response:
        if request.url.path == "/v1/clock/advance":
            self.bodies.append(json.loads(request.content))
            self.advances.append(json.loads(request.content)["seconds"])
            self.now += timedelta(seconds=self.advances[-1])
        if request.url.path == "/v1/consumers":
            return httpx.Response(200, json={"items": [{"name": "push", "lag": self.lags.pop(0)}]})
        return httpx.Response(200, json={"now": self.now.isoformat(), "virtual": self.virtual, "unanswered": ["a"]})


def clock(ops: Ops) -> Clock:
    """Returns the clock of a suite with this `ops`."""
    return Clock(Services(ENDPOINTS, httpx.MockTransport(ops)))


def test_a_virtual_clock_waits_by_an_advance_of_nothing() -> None:
    ops = Ops(virtual=True)
    assert clock(ops).wait() == NOW
    assert ops.advances == [0]


def test_a_real_clock_waits_until_no_service_lags() -> None:
    ops = Ops(virtual=False)
    assert clock(ops).wait() == NOW
    assert ops.lags == []
    assert ops.advances == []


def test_a_step_ends_at_the_next_deadline_and_waits_for_no_device() -> None:
    ops = Ops(virtual=True)
    assert clock(ops).step(60) == NOW + timedelta(minutes=1)
    assert ops.bodies == [{"seconds": 60, "steps": 1, "waitForDevices": 0}]


def test_an_advance_waits_for_devices_and_names_the_slow_ones() -> None:
    ops = Ops(virtual=True)
    assert clock(ops).advance(60) == (NOW + timedelta(minutes=1), ["a"])
    assert ops.bodies == [{"seconds": 60, "waitForDevices": 30}]


def test_a_real_clock_cannot_be_advanced() -> None:
    ops = Ops(virtual=False)
    with pytest.raises(DormouseError, match="the time of this suite is real"):
        clock(ops).step(1)
    assert ops.advances == []


def test_work_runs_in_the_order_of_time_and_once() -> None:
    virtual = clock(Ops(virtual=True))
    done: list[str] = []
    for name, due in (("late", 3), ("first", 1), ("second", 2)):
        virtual.schedule(NOW + timedelta(seconds=due), partial(done.append, name))
    assert virtual.next_work == NOW + timedelta(seconds=1)
    assert not virtual.run_due(NOW)
    assert virtual.run_due(NOW + timedelta(seconds=2))
    assert done == ["first", "second"]
    assert not virtual.run_due(NOW + timedelta(seconds=2))
    virtual.forget_work()
    assert virtual.next_work is None
