"""Background downloads and uploads."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from .durations import Duration, seconds
from .problems import NotSettled
from .records import Record
from .services import path

if TYPE_CHECKING:
    from .app import App


class Transfer:
    """A download or an upload task of a background session. It moves real bytes, in real time."""

    def __init__(self, app: App, session: str, task: int, name: str) -> None:
        self.app: App = app
        self.session: str = session
        self.task: int = task
        self.name: str = name
        """The name of a downloaded file in the app."""

    def __repr__(self) -> str:
        return f"<Transfer {self.session}/{self.task} of {self.app.identifier}>"

    def _call(self, method: str, action: str = "") -> Record:
        return self.app.call(method, "transfer", path("sessions", self.session, "tasks", self.task) + action)

    @property
    def details(self) -> Record:
        """The task as ``transfer`` describes it: attempts, bytes, response, why it does not move."""
        return self._call("GET")

    @property
    def state(self) -> str:
        """``suspended``, ``running``, ``canceling`` or ``completed``."""
        return self.details.text("state")

    @property
    def bytes_received(self) -> int:
        """The number of bytes that have arrived."""
        return self.details.integer("bytesReceived")

    @property
    def status(self) -> int | None:
        """The status of the response of HTTP, if there is one."""
        return self.details.record("response").integer("status") or None

    @property
    def error(self) -> int | None:
        """The code of URLSession with which the task failed; None if it has not failed."""
        error = self.details.record("error")
        return error.integer("code") if "code" in error else None

    @property
    def waiting(self) -> str | None:
        """Why the task does not move, for example ``waitingForConnectivity``."""
        return self.details.optional_text("waiting")

    @property
    def reported(self) -> bool:
        """Whether the app was told of the end of the task (``didCompleteWithError``)."""
        return (self.app.identifier, self.session, self.task) in self.app.device.side.reported

    @property
    def is_unreported(self) -> bool:
        """Whether the task has ended and the app was not told yet."""
        return not self.reported and self.state == "completed"

    def resume(self) -> None:
        """Starts or resumes the task, as code of the app."""
        self._call("POST", "/resume")

    def suspend(self) -> None:
        """Suspends the task, as code of the app."""
        self._call("POST", "/suspend")

    def cancel(self) -> None:
        """Cancels the task, as code of the app."""
        self._call("POST", "/cancel")

    def wait(self, timeout: Duration = "30s") -> Transfer:
        """Waits in real time until the task has ended, and returns the transfer.

        The bytes of a task move in real time, also while the clock is frozen. The delays between its attempts are in
        suite time: ``Dormouse.advance`` ends them.

        Raises:
            NotSettled: the task has not ended within the timeout; the message has the reason.
        """
        end = time.monotonic() + seconds(timeout)
        while (details := self.details).text("state") != "completed":
            if time.monotonic() > end:
                raise NotSettled(f"{self!r} has not ended within {timeout}: {details}")
            time.sleep(0.02)
        self.app.device.settle()
        return self

    @property
    def content(self) -> bytes:
        """The downloaded file, which the app has kept."""
        return self.app.file(self.name)
