"""Waits until devices have answered all their orders."""

from __future__ import annotations

import time
from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING
from urllib.parse import quote

from .clock import Clock
from .durations import rfc3339
from .problems import NotSettled, Problem
from .services import Services, path

if TYPE_CHECKING:
    from .device import Device

_PATIENCE = 30.0


def settle(clock: Clock, devices: Sequence[Device]) -> None:
    """Waits until all services have read the whole log and no device has an unanswered order.

    In the code of an app, which runs in a wake, it returns at once: the wake can't wait for its own end.

    Raises:
        NotSettled: this took more than 30 s of real time.
    """
    if any(device.side.streams.is_current_thread for device in devices):
        return
    end = time.monotonic() + _PATIENCE
    while True:
        answers = [device.side.answers for device in devices]
        if clock.run_due(clock.wait()):
            continue
        missing = [text for device in devices for text in unanswered(device)]
        # The services may not have read an answer that came after they had settled.
        if not missing and answers == [device.side.answers for device in devices] and all(map(_is_idle, answers)):
            return
        if time.monotonic() > end:
            raise NotSettled(f"not settled within {_PATIENCE:.0f} s: {'; '.join(missing)}")
        time.sleep(0.005)


def _is_idle(answers: tuple[int, int]) -> bool:
    return answers[0] == answers[1]


def unanswered(device: Device) -> list[str]:
    """Returns what a device must still do now. What its apps leave undone on purpose does not count."""
    if device.built_in is not None:
        return []
    device.side.streams.check()
    state = device.state
    online = state.flag("isPoweredOn") and state.record("conditions").record("network").text("kind") != "none"
    missing: list[str] = []
    if not device.side.streams.is_open("orders"):
        missing.append("the stream of orders is not connected")
    if not device.side.streams.is_open("notifications"):
        missing.append("the stream of notifications is not connected")
    elif not device.side.connected(online, lambda: _is_connected(device)):
        missing.append("it is not connected to push")
    for name, app in state.entries("apps").items():
        for callback in app.records("pendingCallbacks"):
            if "deadline" in callback:
                missing.append(f"{name} has not returned from {callback.text('callback')}")
        for wake, details in app.entries("wakes").items():
            if not device.side.holds(wake):
                missing.append(f"{name} has not completed the wake for {details.text('kind')}")
        for task, details in app.entries("tasks").items():
            if details.flag("isExpiring") and not device.side.holds(task):
                missing.append(f"{name} has not ended its task {details.text('name')}")
    for installed in device.apps:
        missing += installed.unanswered(state.record("apps").record(installed.identifier), online)
    return [f"{device.name}: {text}" for text in missing]


def _is_connected(device: Device) -> bool:
    where = path("v1", "devices", device.name, "state") + "?service=push"
    try:
        state = device.services.call("GET", "ops", where).record.record("state")
    except Problem as problem:
        if problem.status != 404:  # `push` does not know the device yet.
            raise
        return False
    return "connection" in state


def latest_events(services: Services, begin: datetime, fleet: str) -> dict[str, str]:
    """Returns the last event since a time of each device of a fleet that has one, by the device's name."""
    latest: dict[str, str] = {}
    where = f"/v1/events?since={rfc3339(begin)}&fleet={quote(fleet, safe='')}&order=oldest&limit=1000"
    cursor: str | None = ""
    while cursor is not None:
        page = services.call("GET", "ops", where + (f"&cursor={cursor}" if cursor else "")).record
        for event in page.records():
            # The subject is "device:NAME" or "device:NAME/APP".
            name = event.text("subject").removeprefix("device:").partition("/")[0]
            latest[name] = event.text("id")
        cursor = page.optional_text("next")
    return latest
