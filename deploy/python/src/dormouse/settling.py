"""Waits until devices have answered all their orders."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from .clock import Clock
from .problems import NotSettled

if TYPE_CHECKING:
    from .device import Device

_PATIENCE = 15.0


def settle(clock: Clock, devices: Sequence[Device]) -> None:
    """Waits until all services have read the whole log and no device has an unanswered order.

    Raises:
        NotSettled: this took more than 15 s of real time.
    """
    end = time.monotonic() + _PATIENCE
    while True:
        if clock.is_virtual and clock.run_due(clock.step(0)):
            continue
        missing = [text for device in devices for text in unanswered(device)]
        if not missing:
            return
        if time.monotonic() > end:
            raise NotSettled(f"not settled within {_PATIENCE:.0f} s: {'; '.join(missing)}")
        time.sleep(0.005)


def unanswered(device: Device) -> list[str]:
    """Returns what a device must still do now. What its apps leave undone on purpose does not count."""
    device.side.check()
    state = device.state
    online = state.flag("isPoweredOn") and state.record("conditions").record("network").text("kind") != "none"
    missing: list[str] = []
    if not device.side.is_open("orders"):
        missing.append("the stream of orders is not connected")
    if device.side.is_open("notifications") != online:
        missing.append("the stream of notifications is " + ("not connected" if online else "still connected"))
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
