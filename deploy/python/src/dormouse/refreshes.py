"""Background refreshes and runs of task requests."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from .durations import instant
from .records import Record


@dataclass(frozen=True)
class Refresh:
    """A background refresh."""

    id: str
    due_at: datetime
    started_at: datetime | None
    completed_at: datetime | None
    result: str | None
    """``newData``, ``noData``, ``failed``, ``timedOut`` or ``refused``; None while it runs."""
    refusal: str | None
    """The reason of a refusal, for example ``lowPowerMode``."""
    simulated: bool

    @staticmethod
    def of(item: Record) -> Refresh:
        """Returns the refresh in a document of ``fetch``."""
        return Refresh(
            id=item.text("fetch"),
            due_at=instant(item.text("dueAt")),
            started_at=_optional(item, "startedAt"),
            completed_at=_optional(item, "completedAt"),
            result=item.optional_text("result"),
            refusal=item.optional_text("refusal"),
            simulated=item.flag("simulated"),
        )


@dataclass(frozen=True)
class TaskRun:
    """A run of a task request."""

    request: str
    identifier: str
    kind: str
    due_at: datetime
    started_at: datetime | None
    completed_at: datetime | None
    result: str | None
    """``succeeded``, ``failed``, ``timedOut``, ``refused`` or ``stopped``; None while it runs."""
    refusal: str | None
    stopped: str | None
    """Why the system stopped it."""

    @staticmethod
    def of(item: Record) -> TaskRun:
        """Returns the run in a document of ``fetch``."""
        return TaskRun(
            request=item.text("request"),
            identifier=item.text("identifier"),
            kind=item.text("kind"),
            due_at=instant(item.text("dueAt")),
            started_at=_optional(item, "startedAt"),
            completed_at=_optional(item, "completedAt"),
            result=item.optional_text("result"),
            refusal=item.optional_text("refusal"),
            stopped=item.optional_text("stopped"),
        )


def _optional(item: Record, name: str) -> datetime | None:
    text = item.optional_text(name)
    return None if text is None else instant(text)
