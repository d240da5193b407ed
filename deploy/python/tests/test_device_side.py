"""The reactions of a device to orders, with a connection that records its calls."""

from __future__ import annotations

from collections.abc import Mapping

import httpx
import pytest

from dormouse import Problem, Record, Wake
from dormouse.clock import Clock
from dormouse.device_side import DeviceSide
from dormouse.durations import instant
from dormouse.records import JSON
from dormouse.services import Answer, Services
from dormouse.streams import Streams

from .test_services import ENDPOINTS

ISSUED = "2026-11-21T07:40:00.000Z"
Call = tuple[str, str, str, JSON]


class Connection:
    """A device that only records its calls."""

    name: str = "phone"
    key: str = "key"

    def __init__(self) -> None:
        self.calls: list[Call] = []
        self.open_wakes: dict[str, JSON] = {}
        self.refusal: Problem | None = None
        self.response: Record = Record({})

    def call(self, method: str, service: str, where: str, document: JSON = None) -> Answer:
        if method == "GET":
            return Answer(Record({"wakes": self.open_wakes}), None, b"")
        self.calls.append((method, service, where, document))
        if self.refusal is not None:
            raise self.refusal
        return Answer(self.response, None, b"")


@pytest.fixture
def connection() -> Connection:
    return Connection()


@pytest.fixture
def clock() -> Clock:
    ops = httpx.MockTransport(lambda _: httpx.Response(200, json={"virtual": True, "now": ISSUED}))
    return Clock(Services(ENDPOINTS, ops))


@pytest.fixture
def side(connection: Connection, clock: Clock) -> DeviceSide:
    services = Services(ENDPOINTS, httpx.MockTransport(lambda _: httpx.Response(500)))
    return DeviceSide(connection, Streams(services, "fleet"), clock)


def order(kind: str, name: str, data: Mapping[str, object], *, deadline: bool = False) -> Record:
    end = "2026-11-21T07:40:30.000Z" if deadline else None
    return Record({"type": kind, "name": name, "app": "a", "data": data, "deadline": end, "issuedAt": ISSUED})


def wake(reason: str, request: str = "r") -> Record:
    data = {"wake": "w", "reason": reason, "kind": reason, "request": request, "limitSeconds": 30, "payload": None}
    return order("wake", "handler", data, deadline=True)


def completion(document: JSON) -> Call:
    return ("POST", "lifecycle", "/apps/a/wakes/w/completion", document)


def test_a_callback_returns_if_it_has_a_deadline(side: DeviceSide, connection: Connection) -> None:
    side.obey(order("callback", "didBecomeActive", {"callbacks": ["didBecomeActive"]}))
    assert connection.calls == []
    side.obey(order("callback", "didEnterBackground", {"callbacks": ["didEnterBackground"]}, deadline=True))
    assert connection.calls == [("POST", "lifecycle", "/apps/a/callbacks/didEnterBackground/completion", {})]


def test_a_wake_is_completed_at_once(side: DeviceSide, connection: Connection) -> None:
    side.obey(wake("fetch"))
    assert connection.calls == [completion({"result": "newData"})]


@pytest.mark.parametrize("reason", ["voip", "pushToTalk"])
def test_a_push_for_the_app_is_acknowledged_before_its_wake_ends(
    side: DeviceSide, connection: Connection, reason: str
) -> None:
    side.obey(wake(reason, request="n"))
    made = [(method, where) for method, _, where, _ in connection.calls]
    assert made[0] == ("POST", "/notifications/n/ack")
    assert ("POST", "/apps/a/wakes/w/completion") in made


def test_a_wake_that_takes_time_is_completed_at_its_time(
    side: DeviceSide, connection: Connection, clock: Clock
) -> None:
    side.handlers.set("task", None, "failure", "12s", True, None)
    side.obey(wake("task"))
    connection.open_wakes = {"w": {}}
    assert connection.calls == [] and side.holds("w")
    due = clock.next_work
    assert due is not None and (due - instant(ISSUED)).total_seconds() == 12
    clock.run_due(due)
    assert connection.calls == [completion({"success": False})]
    assert not side.holds("w")


def test_code_does_not_run_after_the_end_of_its_wake(side: DeviceSide, connection: Connection, clock: Clock) -> None:
    runs: list[Wake] = []
    side.handlers.set("push", None, None, "31s", True, runs.append)
    side.obey(wake("push"))
    due = clock.next_work
    assert due is not None
    clock.run_due(due)
    assert runs == []
    assert connection.calls == []


def test_the_expiration_of_a_task_request_ends_its_wake(side: DeviceSide, connection: Connection) -> None:
    side.handlers.set("task", None, None, "9m", True, None)
    side.obey(wake("task"))
    side.obey(order("taskExpiration", "expirationHandler", {"wake": "other"}))
    assert connection.calls == []
    side.obey(order("taskExpiration", "expirationHandler", {"wake": "w"}))
    assert connection.calls == [completion({"success": False})]


def test_the_wake_of_a_session_ends_after_its_last_event(side: DeviceSide, connection: Connection) -> None:
    side.sessions[("a", "films")] = {"isDiscretionary": True}
    side.names[("a", "films", 1)] = "summer.mp4"
    connection.open_wakes = {"w": {}}
    side.obey(wake("transfer", "films"))
    side.obey(order("callback", "didFinishDownloadingTo", {"session": "films", "task": 1}, deadline=True))
    side.obey(
        order(
            "callback",
            "didCompleteWithError",
            {"callbacks": ["didCompleteWithError"], "session": "films", "tasks": [1]},
        )
    )
    assert side.reported == {("a", "films", 1)}
    finished = {"callbacks": ["urlSessionDidFinishEvents"], "session": "films", "tasks": []}
    side.obey(order("callback", "urlSessionDidFinishEvents", finished))
    assert connection.calls == [
        ("PUT", "transfer", "/apps/a/sessions/films", {"isDiscretionary": True}),
        ("POST", "transfer", "/apps/a/sessions/films/tasks/1/claim", {"name": "summer.mp4"}),
        completion({}),
    ]


def test_an_expiring_task_ends_unless_the_app_leaks_it(side: DeviceSide, connection: Connection) -> None:
    side.obey(order("expiration", "expirationHandler", {"task": "t"}))
    assert connection.calls == [("DELETE", "lifecycle", "/apps/a/tasks/t", None)]
    side.handlers.set("expiration", "a", None, 0, False, None)
    side.obey(order("expiration", "expirationHandler", {"task": "u"}))
    assert len(connection.calls) == 1
    assert side.holds("u")


def test_a_challenge_gets_the_credential_of_the_device(side: DeviceSide, connection: Connection) -> None:
    side.obey(order("challenge", "didReceiveChallenge", {"id": "c"}))
    side.credential = ("ada", "secret")
    side.obey(order("challenge", "didReceiveChallenge", {"id": "c"}))
    assert [call[3] for call in connection.calls] == [
        {"disposition": "performDefaultHandling"},
        {"disposition": "useCredential", "credential": {"user": "ada", "password": "secret"}},
    ]


def test_a_delayed_request_continues(side: DeviceSide, connection: Connection) -> None:
    data = {"callbacks": ["willBeginDelayedRequest"], "session": "s", "task": 4, "url": "http://a"}
    side.obey(order("callback", "willBeginDelayedRequest", data, deadline=True))
    where = "/apps/a/sessions/s/tasks/4/delayed-request"
    assert connection.calls == [("POST", "transfer", where, {"disposition": "continueLoading"})]


def test_a_redirect_is_followed(side: DeviceSide, connection: Connection) -> None:
    data = {"callbacks": ["willPerformHTTPRedirection"], "session": "s", "task": 4, "url": "http://a"}
    side.obey(order("callback", "willPerformHTTPRedirection", data, deadline=True))
    where = "/apps/a/sessions/s/tasks/4/redirect"
    assert connection.calls == [("POST", "transfer", where, {"disposition": "follow"})]


def test_a_notification_is_acknowledged_or_presented(side: DeviceSide, connection: Connection) -> None:
    side.presents["a"] = ("banner",)
    side.receive(Record({"id": "n", "app": "a", "willPresent": False}))
    side.receive(Record({"id": "m", "app": "a", "willPresent": True}))
    assert connection.calls == [
        ("POST", "push", "/notifications/n/ack", None),
        ("POST", "push", "/notifications/m/presentation", {"options": ["banner"]}),
    ]
    assert set(side.received) == {"n", "m"}


def test_an_extension_changes_an_alert(side: DeviceSide, connection: Connection) -> None:
    def extension(payload: Record) -> dict[str, JSON]:
        return {"body": payload.text("secret").upper()}

    alert = {"id": "n", "app": "a", "payload": {"secret": "goal"}, "extensionDeadline": ISSUED}
    side.extensions["a"] = extension
    side.receive(Record(alert))
    side.receive(Record({**alert, "app": "b"}))
    assert connection.calls == [
        ("POST", "push", "/notifications/n/content", {"body": "GOAL"}),
        ("POST", "push", "/notifications/n/content", {}),
    ]


def test_an_app_on_screen_presents_what_its_extension_made(side: DeviceSide, connection: Connection) -> None:
    connection.response = Record({"willPresent": True})
    side.presents["a"] = ("banner",)
    side.receive(Record({"id": "n", "app": "a", "willPresent": True, "extensionDeadline": ISSUED}))
    assert [call[2] for call in connection.calls] == ["/notifications/n/content", "/notifications/n/presentation"]


@pytest.mark.parametrize("status", [404, 409, 410])
def test_an_answer_that_comes_too_late_is_no_error(side: DeviceSide, connection: Connection, status: int) -> None:
    connection.refusal = Problem("POST", status, "app_not_running", "")
    side.obey(wake("push"))
    assert side.answers == (1, 1)


def test_an_answer_that_is_wrong_is_an_error(side: DeviceSide, connection: Connection) -> None:
    connection.refusal = Problem("POST", 422, "invalid_document", "")
    with pytest.raises(Problem, match="invalid_document"):
        side.obey(wake("push"))
    assert side.answers == (1, 1)
