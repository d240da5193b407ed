"""A simulated device."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal

from .app import App
from .authorization import Authorization, starting_authorization
from .behaviour import BuiltIn, Extension, Result, WakeReason, Work
from .clock import Clock
from .device_side import DeviceSide
from .durations import Duration
from .notifications import Notifications
from .problems import DormouseError
from .records import JSON, Record
from .report import timeline, why
from .services import Answer, Services, path
from .streams import Streams
from .transfers import Transfer
from .user import User

if TYPE_CHECKING:
    from .suite import Suite

NetworkKind = Literal["none", "cellular", "wifi"]


class Device:
    """A simulated device of a test. ``Dormouse.device`` makes one.

    Attributes:
        name: its identifier in the suite.
        built_in: how the suite answers for it; None if this process does.
        user: the person who carries it.
    """

    def __init__(
        self,
        name: str,
        profile: str,
        registered: Record,
        suite: Suite,
        streams: Streams,
        *,
        built_in: BuiltIn | None = None,
    ) -> None:
        self.name: str = name
        self.profile: str = profile
        self.services: Services = suite.services
        self.clock: Clock = suite.clock
        self.built_in: BuiltIn | None = built_in
        self.user: User = User(self)
        self._apps: dict[str, App] = {}
        self._lock: threading.Lock = threading.Lock()
        self._position: str | None = None
        self._key: str = registered.text("token")
        self._read(registered.optional_text("position"))
        self.side: DeviceSide = DeviceSide(self, streams, suite.clock)

    @staticmethod
    def register(
        names: Sequence[str],
        profile: str,
        fleet: str,
        suite: Suite,
        streams: Streams,
        *,
        time_zone: str | None = None,
        built_in: BuiltIn | None = None,
    ) -> list[Device]:
        """Registers devices by one batch."""
        registration: dict[str, JSON] = {"profile": profile}
        if time_zone is not None:
            registration["timeZone"] = time_zone
        if built_in is not None:
            registration["simulate"] = built_in.document
        lines: list[JSON] = [{"device": name, "registration": registration} for name in names]
        answers = suite.services.batch("POST", "lifecycle", path("v1", "fleets", fleet, "devices"), lines)
        devices = [
            Device(name, profile, answer, suite, streams, built_in=built_in) for name, answer in zip(names, answers)
        ]
        if built_in is None:
            for device in devices:
                streams.add(device.name, device.side)
        return devices

    def __repr__(self) -> str:
        return f"<Device {self.name} ({self.profile})>"

    @property
    def key(self) -> str:
        """The device token, with which the device calls the services."""
        return self._key

    # Calls.

    def call(self, method: str, service: str, where: str, document: JSON = None) -> Answer:
        """Calls a service as this device. It reads the device's own earlier writes.

        Args:
            method: the method of HTTP.
            service: ``lifecycle``, ``fetch``, ``push`` or ``transfer``.
            where: the path after ``/v1/devices/{device}``.
            document: the body.

        Raises:
            Problem: the service refused the call.
        """
        return self.send(method, service, where, document=document)

    def send(
        self, method: str, service: str, where: str, *, document: JSON = None, content: bytes | None = None
    ) -> Answer:
        """Calls a service as ``call`` does, with a document or with bytes."""
        with self._lock:
            position = self._position
        full = path("v1", "devices", self.name) + where
        answer = self.services.call(method, service, full, document, key=self._key, position=position, content=content)
        self._read(answer.position)
        return answer

    def _read(self, position: str | None) -> None:
        """Remembers the latest position. All events of a device are in one partition."""
        with self._lock:
            if position is not None and (self._position is None or _offset(position) > _offset(self._position)):
                self._position = position

    @property
    def state(self) -> Record:
        """The state of the device at ``lifecycle``, with its apps and conditions."""
        return self.call("GET", "lifecycle", "").record

    # Apps.

    def install(
        self,
        app: str,
        *,
        modes: Sequence[str] = (),
        task_identifiers: Sequence[str] = (),
        authorization: Authorization = "authorized",
        registers: bool = True,
        presents: Sequence[str] = (),
        extension: Extension | None = None,
        manifest: Mapping[str, JSON] | None = None,
    ) -> Device:
        """Installs an app, and returns the device.

        Args:
            app: the bundle identifier, which is the topic of its pushes.
            modes: its background modes, for example ``remote-notification`` and ``fetch``.
            task_identifiers: its ``BGTaskSchedulerPermittedIdentifiers``.
            authorization: the authorization for notifications at the start, as on a device that was restored.
            registers: whether its code registers for remote notifications at its launch by the user.
            presents: what its ``willPresent`` returns for an alert while it is on screen, for example ``("banner",)``.
            extension: its notification service extension, for alerts with ``mutable-content``.
            manifest: other members of the manifest, as ``PUT …/apps/{app}`` of ``lifecycle`` describes them.
        """
        document: dict[str, JSON] = {"backgroundModes": list(modes), **(manifest or {})}
        if task_identifiers:
            document["permittedTaskIdentifiers"] = list(task_identifiers)
        if extension is not None:
            document["notificationServiceExtension"] = True
            self.side.extensions[app] = extension
        document.update(starting_authorization(self.services, authorization))
        self.call("PUT", "lifecycle", path("apps", app), document)
        self._apps[app] = App(self, app, registers=registers)
        self.side.presents[app] = tuple(presents)
        if authorization == "denied":
            self.user.allows_notifications(False, app=app)
        return self

    @property
    def apps(self) -> list[App]:
        """The apps that the test has installed, in this order."""
        return list(self._apps.values())

    def app(self, identifier: str | None = None) -> App:
        """Returns an installed app; without an identifier, the only one.

        Raises:
            DormouseError: the app is not installed, or there are several.
        """
        if identifier is None:
            if len(self._apps) == 1:
                return next(iter(self._apps.values()))
            raise DormouseError(f"{self.name} has {len(self._apps)} apps: name one")
        if identifier not in self._apps:
            raise DormouseError(f"{self.name} has no app {identifier!r}; it has {sorted(self._apps) or 'none'}")
        return self._apps[identifier]

    def handles(
        self,
        reason: WakeReason | Literal["expiration", "taskExpiration"],
        *,
        result: Result | None = None,
        takes: Duration = 0,
        completes: bool = True,
        work: Work | None = None,
        app: str | None = None,
    ) -> None:
        """Sets what apps do in a wake. Without it, they complete each wake at once.

        Args:
            reason: the reason of the wake, or the expiration of a task.
            result: the result that the handler reports.
            takes: how long the handler runs, in suite time. ``Dormouse.advance`` ends it.
            completes: False for a handler that never returns.
            work: code that runs in the wake. It may return a result, and must not advance the time.
            app: the app; all apps by default.

        Raises:
            DormouseError: the device is built in, so the suite answers.
        """
        if self.built_in is not None:
            raise DormouseError(f"{self.name} is built in: the suite answers for it, as its BuiltIn says")
        self.side.handlers.set(reason, app, result, takes, completes, work)

    # Surroundings.

    def set_network(
        self, kind: NetworkKind, *, expensive: bool = False, constrained: bool = False, shape: str | None = None
    ) -> None:
        """Changes the network of the device, and waits until it has reacted."""
        network: dict[str, JSON] = {"kind": kind, "expensive": expensive, "constrained": constrained}
        if shape is not None:
            network["shape"] = shape
        self.set_conditions(network=network)

    def set_battery(self, level: float, *, charging: bool = False) -> None:
        """Changes the battery, from 0 to 1."""
        self.set_conditions(battery={"level": level, "charging": charging})

    def set_conditions(self, **conditions: JSON) -> None:
        """Changes conditions as ``PATCH …/conditions`` of ``lifecycle`` describes them."""
        self.call("PATCH", "lifecycle", "/conditions", conditions)
        self.settle()

    # What happened.

    @property
    def token(self) -> str:
        """The device token for APNs of the only app."""
        return self.app().token

    @property
    def notifications(self) -> Notifications:
        """The notifications of all apps, the oldest first."""
        self.settle()
        return Notifications.of(self.apps)

    def download(
        self, url: str, *, save_as: str | None = None, headers: Mapping[str, JSON] | None = None, **options: JSON
    ) -> Transfer:
        """Starts a background download of the only app: see ``App.download``."""
        return self.app().download(url, save_as=save_as, headers=headers, options=options)

    def upload(
        self, url: str, content: bytes, *, headers: Mapping[str, JSON] | None = None, **options: JSON
    ) -> Transfer:
        """Starts a background upload of the only app: see ``App.upload``."""
        return self.app().upload(url, content, headers=headers, options=options)

    def why(self, app: str | None = None) -> str:
        """Returns why the apps are in their states, and what became of notifications, refreshes and transfers."""
        return why(self, self.apps if app is None else [self.app(app)])

    def timeline(self) -> str:
        """Returns the events of the device, the oldest first."""
        return timeline(self)

    # Waiting.

    def settle(self) -> None:
        """Waits until all services have settled and the device has answered all its orders.

        Raises:
            NotSettled: an order was not answered within 30 s of real time.
        """
        from .settling import settle

        settle(self.clock, [self])

    def remove(self) -> None:
        """Removes the device from the suite."""
        self.side.streams.remove(self.name)
        self.services.call("DELETE", "lifecycle", path("v1", "devices", self.name))


def _offset(position: str) -> int:
    return int(position.rpartition(":")[2])
