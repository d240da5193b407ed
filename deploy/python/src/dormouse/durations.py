"""Durations as people write them, and instants as the services write them."""

from __future__ import annotations

import re
from datetime import datetime, timedelta, timezone

Duration = str | int | float | timedelta
"""A text such as ``"10m"`` or ``"1h30m"``, a number of seconds, or a ``timedelta``."""

_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_PART = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d)")


def seconds(duration: Duration) -> float:
    """Returns a duration in seconds.

    Raises:
        ValueError: the text has another form, or the duration is negative.
    """
    if isinstance(duration, str):
        text = duration.strip()
        if not re.fullmatch(f"(?:{_PART.pattern})+", text):
            raise ValueError(f"{duration!r} is not a duration: write it like '90s', '10m' or '1h30m'")
        return sum(float(part[1]) * _UNITS[part[2]] for part in _PART.finditer(text))
    value = duration.total_seconds() if isinstance(duration, timedelta) else float(duration)
    if not 0 <= value < float("inf"):
        raise ValueError(f"{duration!r} is not a duration: time never goes back")
    return value


def instant(text: str) -> datetime:
    """Returns the time of an RFC 3339 text such as ``2026-11-21T07:40:00.000Z``, in UTC."""
    return datetime.fromisoformat(text.replace("Z", "+00:00")).astimezone(timezone.utc)


def next_time(text: str, after: datetime) -> datetime:
    """Returns the next time of day after a time, in UTC.

    Args:
        text: a time of day such as ``07:30``.
        after: the time after which it is.

    Raises:
        ValueError: the text has another form.
    """
    if re.fullmatch(r"([01]\d|2[0-3]):[0-5]\d", text) is None:
        raise ValueError(f"{text!r} is not a time of day: write it like '07:30'")
    now = after.astimezone(timezone.utc)
    time = now.replace(hour=int(text[:2]), minute=int(text[3:]), second=0, microsecond=0)
    return time if time > now else time + timedelta(days=1)


def rfc3339(time: datetime) -> str:
    """Returns a time in the form of the services: UTC with milliseconds."""
    if time.tzinfo is None:
        raise ValueError(f"{time} has no time zone")
    return time.astimezone(timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")
