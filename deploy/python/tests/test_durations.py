from __future__ import annotations

from datetime import datetime, timedelta, timezone

import pytest

from dormouse.durations import Duration, instant, next_time, rfc3339, seconds


@pytest.mark.parametrize(
    ("duration", "expected"),
    [("90s", 90), ("10m", 600), ("1h30m", 5400), ("2d", 172_800), ("250ms", 0.25), ("1.5h", 5400), (7, 7), (0.5, 0.5)],
)
def test_durations_have_units(duration: Duration, expected: float) -> None:
    assert seconds(duration) == expected


def test_a_timedelta_is_a_duration() -> None:
    assert seconds(timedelta(minutes=2)) == 120


@pytest.mark.parametrize("duration", ["", "10", "m", "10 m", "10x", "-5s", "5m!", -1, float("nan"), float("inf")])
def test_other_durations_are_refused(duration: Duration) -> None:
    with pytest.raises(ValueError, match="is not a duration"):
        seconds(duration)


def test_instants_are_in_utc() -> None:
    time = instant("2026-11-21T07:40:00.125Z")
    assert time == datetime(2026, 11, 21, 7, 40, 0, 125_000, timezone.utc)
    assert rfc3339(time) == "2026-11-21T07:40:00.125Z"
    assert rfc3339(time.astimezone(timezone(timedelta(hours=2)))) == "2026-11-21T07:40:00.125Z"


@pytest.mark.parametrize(
    ("text", "expected"),
    [("07:40", "2026-11-22T07:40"), ("07:41", "2026-11-21T07:41"), ("00:00", "2026-11-22T00:00")],
)
def test_a_time_of_day_is_the_next_one(text: str, expected: str) -> None:
    assert next_time(text, instant("2026-11-21T07:40:00.000Z")) == instant(expected + ":00.000Z")


@pytest.mark.parametrize("text", ["7:40", "24:00", "07:60", "07:40:00", "noon"])
def test_other_times_of_day_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not a time of day"):
        next_time(text, instant("2026-11-21T07:40:00.000Z"))


def test_a_time_without_a_zone_is_refused() -> None:
    with pytest.raises(ValueError, match="no time zone"):
        rfc3339(datetime(2026, 11, 21))
