"""Requests, with a transport that answers from a list."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import httpx
import pytest

from dormouse import DormouseError, Endpoints, Problem, SuiteFailed
from dormouse.services import Services, path

ENDPOINTS = Endpoints(
    lifecycle="http://lifecycle",
    fetch="http://fetch",
    push="http://push",
    transfer="http://transfer",
    ops="http://ops",
    apns="https://apns",
    ca="ca.pem",
    operator_key="key",
)
Script = list[httpx.Response | Exception]


@pytest.fixture
def play(monkeypatch: pytest.MonkeyPatch) -> Callable[[Script], tuple[Services, list[httpx.Request], list[float]]]:
    """Returns services that answer a script, the requests that they get, and the pauses between them."""

    def services(script: Script) -> tuple[Services, list[httpx.Request], list[float]]:
        requests: list[httpx.Request] = []
        pauses: list[float] = []
        monkeypatch.setattr("dormouse.services.time.sleep", pauses.append)

        def answer(request: httpx.Request) -> httpx.Response:
            requests.append(request)
            step = script[len(requests) - 1]
            if isinstance(step, Exception):
                raise step
            return step

        return Services(ENDPOINTS, httpx.MockTransport(answer)), requests, pauses

    return services


Play = Callable[[Script], tuple[Services, list[httpx.Request], list[float]]]


def test_a_repeated_post_has_the_same_idempotency_key(play: Play) -> None:
    services, requests, pauses = play(
        [
            httpx.Response(503, headers={"Retry-After": "2"}),
            httpx.ConnectError("refused"),
            httpx.Response(429),
            httpx.Response(201, json={"app": "a"}, headers={"Dormouse-Position": "3:7"}),
        ]
    )
    answer = services.call("POST", "lifecycle", "/v1/x", {"event": "home"})
    assert answer.record.text("app") == "a"
    assert answer.position == "3:7"
    assert len({request.headers["Idempotency-Key"] for request in requests}) == 1
    assert pauses == [2.0, 0.3, 1.0]
    assert requests[0].url == "http://lifecycle/v1/x"
    assert requests[0].content == b'{"event":"home"}'


def test_a_call_has_its_key_and_its_position(play: Play) -> None:
    services, requests, _ = play([httpx.Response(200), httpx.Response(200)])
    services.call("GET", "push", "/v1/y", key="device", position="3:7")
    services.call("GET", "ops", "/v1/z")
    assert requests[0].headers["Authorization"] == "Bearer device"
    assert requests[0].headers["Dormouse-Position"] == "3:7"
    assert requests[1].headers["Authorization"] == "Bearer key"
    assert "Dormouse-Position" not in requests[1].headers


def test_a_problem_has_its_code_and_the_faults_of_members(play: Play) -> None:
    document = {"code": "invalid_document", "detail": "bad", "errors": [{"pointer": "/a", "detail": "is missing"}]}
    services, requests, _ = play([httpx.Response(422, json=document)])
    with pytest.raises(Problem, match="PUT /v1/x of fetch: 422 invalid_document: bad; /a is missing") as raised:
        services.call("PUT", "fetch", "/v1/x", {})
    assert (raised.value.status, raised.value.code) == (422, "invalid_document")
    assert len(requests) == 1


def test_a_service_that_never_answers_is_an_error(play: Play) -> None:
    services, requests, _ = play([httpx.ConnectError("refused")] * 6)
    with pytest.raises(DormouseError, match="no answer"):
        services.call("GET", "fetch", "/v1/x")
    assert len(requests) == 6


def test_the_last_503_is_a_problem(play: Play) -> None:
    services, _, _ = play([httpx.Response(503, json={"code": "database_unavailable"})] * 6)
    with pytest.raises(Problem, match="503 database_unavailable"):
        services.call("GET", "fetch", "/v1/x")


def test_a_stream_has_comments_and_events(play: Play) -> None:
    text = ': open\n\nid: 4:21\nevent: notification\ndata: {"a":1}\n\n: heartbeat\n\ndata: {"a":2}\n\n'
    services, requests, _ = play([httpx.Response(200, text=text)])
    with services.stream("lifecycle", "/v1/orders", key="device", after="4:20") as stream:
        events = list(stream)
    assert [event.comment for event in events] == ["open", None, "heartbeat", None]
    assert [event.id for event in events] == [None, "4:21", None, None]
    assert [event.data.integer("a") for event in events] == [0, 1, 0, 2]
    assert requests[0].headers["Last-Event-ID"] == "4:20"


def test_a_refused_stream_is_a_problem(play: Play) -> None:
    services, _, _ = play([httpx.Response(410, json={"code": "beyond_retention"})])
    with pytest.raises(Problem, match="410 beyond_retention"), services.stream("lifecycle", "/v1/orders"):
        pass


def test_segments_of_a_path_are_encoded() -> None:
    assert path("v1", "a/b", 3, "ä") == "/v1/a%2Fb/3/%C3%A4"


def test_the_file_of_endpoints_is_checked(tmp_path: Path) -> None:
    with pytest.raises(SuiteFailed, match="does the suite run"):
        Endpoints.read(tmp_path / "endpoints.json")
    file = tmp_path / "endpoints.json"
    file.write_text('{"ops": "http://ops", "lifecycle": "http://lifecycle"}')
    with pytest.raises(SuiteFailed, match="has no fetch, push, transfer, apns, operatorKey"):
        Endpoints.read(file)


def test_a_batch_is_repeated_with_its_key_and_returns_a_record_for_each_line(play: Play) -> None:
    lines = '{"line":1,"status":201,"token":"t"}\n{"line":2,"status":200}\n{"failed":0,"succeeded":2}\n'
    services, requests, _ = play([httpx.ReadError("lost"), httpx.Response(200, text=lines)])
    answers = services.batch("POST", "lifecycle", "/v1/fleets/f/devices", [{"device": "a"}, {"device": "b"}])
    assert [answer.integer("status") for answer in answers] == [201, 200]
    assert requests[0].headers["Idempotency-Key"] == requests[1].headers["Idempotency-Key"]
    assert requests[1].content == b'{"device": "a"}\n{"device": "b"}'
    assert requests[1].headers["Content-Type"] == "application/x-ndjson"


def test_an_incomplete_batch_and_a_refused_line_are_errors(play: Play) -> None:
    cut = '{"line":1,"status":201}\n'
    refused = '{"line":1,"status":409,"code":"device_off","detail":"off"}\n{"failed":1,"succeeded":0}\n'
    services, _, _ = play([httpx.Response(200, text=cut), httpx.Response(200, text=refused)])
    with pytest.raises(DormouseError, match="0 answers to 1 lines"):
        services.batch("POST", "lifecycle", "/v1/x", [{"device": "a"}])
    with pytest.raises(Problem, match="line 1 of POST"):
        services.batch("POST", "lifecycle", "/v1/x", [{"device": "a"}])
