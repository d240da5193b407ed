"""Texts that explain what happened on a device."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from .durations import instant
from .notifications import Notifications
from .problems import Problem
from .records import Record
from .services import path

if TYPE_CHECKING:
    from .app import App
    from .device import Device

_LINES = 80
# Services record what they have read from `lifecycle`, whose own event is in the timeline.
_MIRROR = re.compile(r"(fetch|push|transfer)\.(device|app|conditions)\.(updated|changed|opened|removed)")
_NO_NEWS = ("modeNotDeclared", "unsupportedOnProfile", "inForeground", "locationNotAuthorized")
_IDENTIFIERS = frozenset(("apnsID", "connection", "epoch", "file", "holder", "token", "wake", "worker"))
_DOCUMENTS = frozenset(("callbacks", "configuration", "contentState", "manifest", "payload", "registration"))
_FLAGS = frozenset(("fromStorage", "neverStored", "priority", "quiet", "silent"))
_SKIPPED = _IDENTIFIERS | _DOCUMENTS | _FLAGS | {"app", "deadline", "kind"}


def timeline(device: Device) -> str:
    """Returns the last events of a device, the oldest first, with times from the first one."""
    where = path("v1", "devices", device.name, "timeline") + "?order=newest&limit=500"
    items = [
        item
        for item in reversed(device.services.call("GET", "ops", where).record.records())
        if _MIRROR.fullmatch(item.text("type")) is None
    ]
    if not items:
        return "no events"
    begin = instant(items[0].text("time"))
    lines = [f"{begin:%Y-%m-%d %H:%M:%S} UTC"]
    if len(items) > _LINES:
        lines.append(f"({len(items) - _LINES} earlier events)")
    for item in items[-_LINES:]:
        passed = (instant(item.text("time")) - begin).total_seconds()
        app = f" {item.text('app')}" if "app" in item else ""
        lines.append(f"{_clock(passed)}  {item.text('type')}{app}{_details(item.record('data'))}")
    lines.append(f"{_clock((device.clock.now - begin).total_seconds())}  now")
    return "\n".join(lines)


def why(device: Device, apps: Sequence[App]) -> str:
    """Returns the explanations of all services for the apps of a device."""
    state = device.state
    lines = [f"{device.name} ({device.profile}): {_surroundings(state)}"]
    for app in apps:
        try:
            lines += _why(app)
        except Problem as problem:
            lines.append(f"{app.identifier}: {problem.detail}")
    return "\n".join(lines)


def _why(app: App) -> list[str]:
    explanation = app.call("GET", "lifecycle", "/explain")
    lines = [f"{app.identifier} is {explanation.text('state')}. {explanation.text('because')}"]
    for notification in Notifications.of([app])[-10:]:
        lines.append(f"  {notification}")
        lines += _reasons(app, notification.id)
    for refusal, kinds in _refusals(explanation).items():
        lines.append(f"  a wake would be refused now for {refusal}: {', '.join(kinds)}")
    lines += _refreshes(app)
    lines += _transfers(app)
    return lines


def _reasons(app: App, notification: str) -> list[str]:
    """Returns the earlier events that explain what became of a notification, if `ops` knows them."""
    try:
        explained = app.device.services.call("GET", "ops", path("v1", "pushes", notification)).record
    except Problem as problem:
        if problem.status != 404:
            raise
        return []
    lines: list[str] = []
    for reason in explained.records("reasons"):
        event = reason.record("event")
        at = instant(event.text("time"))
        details = _details(event.record("data"))
        lines.append(f"    {reason.text('reason')}: {at:%H:%M:%S} {event.text('type')}{details}")
    return lines


def _surroundings(state: Record) -> str:
    conditions = state.record("conditions")
    words = ["on" if state.flag("isPoweredOn") else "off", "network " + conditions.record("network").text("kind")]
    words.append("locked" if conditions.flag("locked") else "unlocked")
    if conditions.flag("lowPowerMode"):
        words.append("Low Power Mode")
    words.append(f"battery {conditions.record('battery').number('level'):.0%}")
    return ", ".join(words)


def _refusals(explanation: Record) -> dict[str, list[str]]:
    """Returns the kinds of wakes by the reason of their refusal. A missing mode is no news."""
    refusals: dict[str, list[str]] = {}
    for wake in explanation.records("wakes"):
        refusal = wake.optional_text("refusal")
        if refusal is not None and refusal not in _NO_NEWS:
            refusals.setdefault(refusal, []).append(wake.text("kind"))
    return refusals


def _refreshes(app: App) -> list[str]:
    forecast = app.call("GET", "fetch", "/forecast")
    if not forecast.flag("inEffect") or forecast.members.get("interval") == "never":
        return []
    at = forecast.record("nextFetch").optional_text("at")
    lines = [f"  next refresh: {at or 'waits'}"]
    for factor in forecast.records("factors"):
        if factor.text("result") == "mustWait":
            until = f", until {factor.text('until')}" if "until" in factor else ""
            lines.append(f"    {factor.text('factor')}: {factor.text('reason')}{until}")
    return lines


def _transfers(app: App) -> list[str]:
    lines: list[str] = []
    for session in app.call("GET", "transfer", "/explain").records("sessions"):
        for task in session.records("tasks"):
            hindrances = [hindrance.text("reason") for hindrance in task.records("hindrances")]
            why_not = f": {', '.join(hindrances)}" if hindrances else ""
            lines.append(
                f"  transfer {session.text('identifier')}/{task.integer('task')} is {task.text('state')}{why_not}"
            )
    return lines


def _details(data: Record) -> str:
    """Returns the members of an event that fit into a line."""
    words: list[str] = []
    for name in data:
        value = data.members[name]
        if name not in _SKIPPED and value is not None:
            words.append(f"{name}={value if isinstance(value, str) else json.dumps(value, separators=(',', ':'))}")
    return "  " + " ".join(words)[:160] if words else ""


def _clock(seconds: float) -> str:
    minutes, rest = divmod(seconds, 60)
    hours, minutes = divmod(int(minutes), 60)
    return f"+{hours:02}:{minutes:02}:{rest:06.3f}"
