"""An app on a device."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal

from .durations import Duration, seconds
from .notifications import IN_FLIGHT, Notifications, latest
from .problems import DormouseError, Problem
from .records import JSON, Record
from .refreshes import Refresh, TaskRun
from .services import path
from .transfers import Transfer

if TYPE_CHECKING:
    from .device import Device

TokenKind = Literal[
    "apns", "voip", "complication", "fileprovider", "location", "pushToStart", "pushtotalk", "widgets", "controls"
]


class App:
    """An installed app. Some calls are code of the app, so they need that it runs: ``app_not_running`` otherwise."""

    def __init__(self, device: Device, identifier: str, *, registers: bool = True) -> None:
        self.device: Device = device
        self.identifier: str = identifier
        self._registers: bool = registers
        self._tokens: dict[str, str] = {}
        self._transfers: list[Transfer] = []
        self._interval: JSON = None

    def __repr__(self) -> str:
        return f"<App {self.identifier} on {self.device.name}>"

    def call(self, method: str, service: str, where: str = "", document: JSON = None) -> Record:
        """Calls a service; ``where`` is the path after ``…/apps/{app}``."""
        return self.device.call(method, service, path("apps", self.identifier) + where, document).record

    @property
    def state(self) -> str:
        """``notRunning``, ``inactive``, ``active``, ``background`` or ``suspended``."""
        self.device.settle()
        return self.call("GET", "lifecycle").text("state")

    def launched(self) -> None:
        """Runs the code at a launch by the user: it registers for pushes, and sets its fetch interval."""
        if self._registers and "apns" not in self._tokens:
            self.register()
        if self._interval is not None:
            self.call("PUT", "fetch", "/minimum-interval", {"interval": self._interval})

    # Pushes.

    @property
    def token(self) -> str:
        """The device token for APNs.

        Raises:
            DormouseError: the app has not registered yet, because the user has not opened it.
        """
        if "apns" not in self._tokens:
            raise DormouseError(
                f"{self.identifier} has no token yet: its code registers when the user opens it"
                + f" (phone.user.opens({self.identifier!r}))"
            )
        return self._tokens["apns"]

    def register(self, kind: TokenKind = "apns", *, environment: Literal["sandbox", "production"] = "sandbox") -> str:
        """Registers for pushes of a kind, as code of the app, and returns the token."""
        answer = self.call("PUT", "push", "/registration", {"kind": kind, "environment": environment})
        self._tokens[kind] = answer.text("token")
        return self._tokens[kind]

    def requests_authorization(self, *options: str, answer: Literal["allow", "deny"] | None = "allow") -> Record:
        """Requests authorization for notifications, as code of the app, and returns what was decided.

        Args:
            options: for example ``alert``, ``sound``, ``badge`` or ``provisional``; the first three by default.
            answer: the answer of the user, if the system asks.

        Raises:
            DormouseError: this suite knows only on and off, in the settings of the user.
        """
        requests = "/v1/devices/{device}/apps/{app}/authorization-requests"
        if not self.device.services.body_members("POST", "lifecycle", requests):
            raise DormouseError("this suite has no requests for authorization: use user.allows_notifications")
        document: dict[str, JSON] = {"options": list(options or ("alert", "sound", "badge"))}
        if answer is not None:
            document["answer"] = answer
        return self.call("POST", "lifecycle", "/authorization-requests", document)

    @property
    def notifications(self) -> Notifications:
        """The notifications to this app, the oldest first."""
        self.device.settle()
        return Notifications.of([self])

    # Refreshes and tasks.

    def set_fetch_interval(self, interval: Duration | Literal["minimum", "never"]) -> None:
        """Sets the minimum background fetch interval now and at each launch by the user."""
        self._interval = str(interval) if interval in ("minimum", "never") else seconds(interval)
        self.call("PUT", "fetch", "/minimum-interval", {"interval": self._interval})

    @property
    def fetches(self) -> list[Refresh]:
        """The background refreshes, the oldest first."""
        self.device.settle()
        items = self.call("GET", "fetch", "/fetches?limit=100").records()
        return [Refresh.of(item) for item in reversed(items)]

    def simulate_fetch(self) -> Refresh:
        """Refreshes now, as the menu of Xcode does, and waits for the result."""
        identifier = self.call("POST", "fetch", "/simulate-fetch").text("fetch")
        self.device.settle()
        return Refresh.of(self.call("GET", "fetch", path("fetches", identifier)))

    def submit_task(
        self,
        identifier: str,
        *,
        kind: Literal["refresh", "processing", "healthResearch", "continuedProcessing"] = "refresh",
        **options: JSON,
    ) -> None:
        """Submits a task request, as ``BGTaskScheduler.submit`` does.

        Args:
            identifier: one of the ``task_identifiers`` of ``install``.
            kind: the kind of the task.
            options: other members of ``POST …/task-requests`` of ``fetch``, for example ``requiresExternalPower``.
        """
        self.call("POST", "fetch", "/task-requests", {"identifier": identifier, "kind": kind, **options})

    def simulate_task(self, identifier: str) -> None:
        """Runs a pending task request now, as the debugger does, and waits for its end."""
        self.call("POST", "fetch", path("task-requests", identifier, "simulate-launch"))
        self.device.settle()

    @property
    def task_runs(self) -> list[TaskRun]:
        """The runs of task requests, the oldest first."""
        self.device.settle()
        items = self.call("GET", "fetch", "/task-runs?limit=100").records()
        return [TaskRun.of(item) for item in reversed(items)]

    # Transfers.

    def download(
        self,
        url: str,
        *,
        session: str = "downloads",
        save_as: str | None = None,
        headers: Mapping[str, JSON] | None = None,
        configuration: Mapping[str, JSON] | None = None,
        options: Mapping[str, JSON] | None = None,
    ) -> Transfer:
        """Starts a download in a background session, as code of the app.

        Args:
            url: the address. The suite itself serves ``Dormouse.publish``.
            session: the identifier of the session.
            save_as: the name of the file in the app.
            headers: headers of the request, for example ``Authorization``.
            configuration: the configuration of the session, as ``PUT …/sessions/{identifier}`` describes it.
            options: other members of ``POST …/downloads`` of ``transfer``, for example ``priority``.
        """
        document: dict[str, JSON] = {"url": url, "headers": headers or {}, **(options or {})}
        return self._start("downloads", session, document, configuration or {}, save_as)

    def upload(
        self,
        url: str,
        content: bytes,
        *,
        session: str = "uploads",
        headers: Mapping[str, JSON] | None = None,
        configuration: Mapping[str, JSON] | None = None,
        options: Mapping[str, JSON] | None = None,
    ) -> Transfer:
        """Writes a file of the app, and starts its upload in a background session, as code of the app."""
        name = f"upload-{len(self._transfers) + 1}"
        where = path("apps", self.identifier, "files", name)
        self.device.send("PUT", "transfer", where, content=content)
        document: dict[str, JSON] = {"url": url, "file": name, "headers": headers or {}, **(options or {})}
        return self._start("uploads", session, document, configuration or {}, None)

    def file(self, name: str) -> bytes:
        """Returns a file of the app, for example a download that it has kept.

        Raises:
            Problem: there is no such file.
        """
        return self.device.send("GET", "transfer", path("apps", self.identifier, "files", name)).content

    def _start(
        self,
        kind: str,
        session: str,
        document: dict[str, JSON],
        configuration: Mapping[str, JSON],
        save_as: str | None,
    ) -> Transfer:
        side = self.device.side
        key = (self.identifier, session)
        if key not in side.sessions or configuration:
            side.sessions[key] = dict(configuration)
        where = path("sessions", session)
        self.call("PUT", "transfer", where, side.sessions[key])
        task = self.call("POST", "transfer", f"{where}/{kind}", document).integer("task")
        name = save_as or f"{session}-{task}"
        # The task starts after this, so that its first order finds the name.
        side.names[(self.identifier, session, task)] = name
        transfer = Transfer(self, session, task, name)
        self._transfers.append(transfer)
        transfer.resume()
        return transfer

    # For `settle`, `why` and reports.

    @property
    def transfers(self) -> list[Transfer]:
        """The transfers that the test has started."""
        return list(self._transfers)

    def unanswered(self, state: Record, online: bool) -> list[str]:
        """Returns what the device must still do for this app now."""
        missing: list[str] = []
        if online and self._tokens:
            try:
                recent = latest(self, 20)
            except Problem as problem:
                if problem.status != 404:  # The app was uninstalled.
                    raise
                recent = []
            for item in recent:
                if item.text("status") in IN_FLIGHT:
                    missing.append(f"notification {item.text('id')} is not acknowledged")
        if state.text("state") in ("active", "inactive", "background"):
            for transfer in self._transfers:
                if transfer.is_unreported:
                    missing.append(f"{self.identifier} has not heard of the end of {transfer}")
        return missing
