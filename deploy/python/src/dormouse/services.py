"""Requests to the services of a suite."""

from __future__ import annotations

import json
import threading
import time
import uuid
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

import httpx

from .problems import DormouseError, Problem, SuiteFailed
from .records import JSON, Record

SERVICES = ("lifecycle", "fetch", "push", "transfer", "ops")
_BATCH = 500
_TIMEOUT = 60.0
_PAUSES = (0.1, 0.3, 1.0, 2.0, 4.0)


def path(*segments: str | int) -> str:
    """Returns a path whose segments are percent-encoded."""
    return "/" + "/".join(quote(str(segment), safe="") for segment in segments)


@dataclass(frozen=True)
class Endpoints:
    """The addresses of a suite, as in the file ``endpoints.json`` of ``deploy/up``."""

    lifecycle: str
    fetch: str
    push: str
    transfer: str
    ops: str
    apns: str
    """The endpoint for providers: HTTP/2 over TLS."""
    ca: str
    """The path of the certificate authority that signed the certificate of ``apns``."""
    operator_key: str

    @staticmethod
    def read(file: str | Path) -> Endpoints:
        """Reads the file of ``deploy/up``.

        Raises:
            SuiteFailed: the file is missing or incomplete.
        """
        try:
            record = Record.parse(Path(file).read_bytes())
        except OSError as error:
            raise SuiteFailed(f"cannot read {file}: {error.strerror}; does the suite run?") from error
        missing = [name for name in (*SERVICES, "apns", "operatorKey") if not record.text(name)]
        if missing:
            raise SuiteFailed(f"{file} has no {', '.join(missing)}")
        addresses = {name: record.text(name).rstrip("/") for name in (*SERVICES, "apns")}
        return Endpoints(**addresses, ca=record.text("ca"), operator_key=record.text("operatorKey"))

    def address(self, service: str) -> str:
        """Returns the address of a service by its name."""
        addresses = {"lifecycle": self.lifecycle, "fetch": self.fetch, "push": self.push}
        return {**addresses, "transfer": self.transfer, "ops": self.ops}[service]


@dataclass(frozen=True)
class Answer:
    """A successful answer."""

    record: Record
    position: str | None
    """The position of a command in the log, to read one's own write at another service."""
    content: bytes
    status: int = 200


class Services:
    """The services of a suite, with retries and typed errors. It may be used by several threads."""

    def __init__(self, endpoints: Endpoints, transport: httpx.BaseTransport | None = None) -> None:
        self.endpoints: Endpoints = endpoints
        self._lock: threading.Lock = threading.Lock()
        self._descriptions: dict[str, Record] = {}
        limits = httpx.Limits(max_connections=None, max_keepalive_connections=32, keepalive_expiry=20)
        self._client: httpx.Client = httpx.Client(timeout=_TIMEOUT, limits=limits, transport=transport, trust_env=False)

    def close(self) -> None:
        """Closes all connections."""
        self._client.close()

    def call(
        self,
        method: str,
        service: str,
        where: str,
        document: JSON = None,
        *,
        key: str | None = None,
        position: str | None = None,
        content: bytes | None = None,
        headers: Mapping[str, str] | None = None,
        timeout: float = _TIMEOUT,
    ) -> Answer:
        """Sends a request; repeats it after 429, 503 and lost connections.

        The idempotency key of a ``POST`` prevents a second effect.

        Raises:
            Problem: the service refused the request.
            DormouseError: the service did not answer.
        """
        sent = self._headers(key, position, headers)
        if method == "POST":
            sent["Idempotency-Key"] = str(uuid.uuid4())
        return self._send(method, service, where, sent, document, content, timeout)

    def batch(self, method: str, service: str, where: str, lines: Sequence[JSON]) -> list[Record]:
        """Sends a document on each line, and returns the line of the answer for each.

        The idempotency key prevents a second effect of the lines that were processed before a connection was lost.

        Raises:
            Problem: the service refused the request or a line.
            DormouseError: the service did not answer.
        """
        answers: list[Record] = []
        for start in range(0, len(lines), _BATCH):
            part = lines[start : start + _BATCH]
            sent = self._headers(None, None, {"Content-Type": "application/x-ndjson"})
            sent["Idempotency-Key"] = str(uuid.uuid4())
            content = "\n".join(json.dumps(line) for line in part).encode()
            answer = self._send(method, service, where, sent, None, content)
            records = [Record.parse(line) for line in answer.content.splitlines()]
            if len(records) != len(part) + 1:
                raise DormouseError(f"{method} {where} of {service}: {len(records) - 1} answers to {len(part)} lines")
            for record in records[:-1]:
                if record.integer("status") >= 400:
                    call = f"line {start + record.integer('line')} of {method} {where} of {service}"
                    raise Problem(call, record.integer("status"), record.text("code", "no_code"), _detail(record))
            answers += records[:-1]
        return answers

    def _send(
        self,
        method: str,
        service: str,
        where: str,
        sent: dict[str, str],
        document: JSON,
        content: bytes | None,
        timeout: float = _TIMEOUT,
    ) -> Answer:
        for pause in (*_PAUSES, None):
            try:
                # `json` of httpx omits a body for None.
                response = self._client.request(
                    method,
                    self.endpoints.address(service) + where,
                    json=document,
                    content=content,
                    headers=sent,
                    timeout=timeout,
                )
            except httpx.TransportError as error:
                if pause is None:
                    raise DormouseError(f"{method} {where} of {service}: no answer ({error})") from error
                time.sleep(pause)
                continue
            if response.status_code in (429, 503) and pause is not None:
                time.sleep(_retry_after(response, pause))
                continue
            if response.status_code == 410 and "Dormouse-Position" in sent and _is_of_earlier_log(response):
                # `Suite.restore` has returned to a log that has this position, or not the event.
                del sent["Dormouse-Position"]
                continue
            return _checked(response, f"{method} {where} of {service}")
        raise DormouseError(f"{method} {where} of {service}: no answer")

    def body_members(self, method: str, service: str, template: str) -> dict[str, Record]:
        """Returns the schemas of the members of a body, by their names, from the service's own description.

        Versions of a suite differ, and a service refuses members that it does not know.

        Args:
            method: the method of HTTP.
            service: the service.
            template: the path with parameters, for example ``/v1/devices/{device}``.
        """
        with self._lock:
            if service not in self._descriptions:
                self._descriptions[service] = self.call("GET", service, "/openapi.json").record
            description = self._descriptions[service]
        operation = description.record("paths").record(template).record(method.lower())
        content = operation.record("requestBody").record("content").record("application/json")
        return content.record("schema").entries("properties")

    @contextmanager
    def stream(
        self, service: str, where: str, *, key: str | None = None, after: str | None = None
    ) -> Generator[Generator[Event, None, None], None, None]:
        """Opens a stream of server-sent events.

        Raises:
            Problem: the service refused the stream.
            httpx.TransportError: the connection failed.
        """
        headers = self._headers(key, None, {"Last-Event-ID": after} if after else None)
        # A heartbeat comes every 15 s, so a longer silence is a lost connection.
        timeout = httpx.Timeout(30, read=45)
        url = self.endpoints.address(service) + where
        with self._client.stream("GET", url, headers=headers, timeout=timeout) as response:
            if response.status_code != 200:
                response.read()
                _checked(response, f"GET {where} of {service}")
            yield _events(response)

    def _headers(self, key: str | None, position: str | None, more: Mapping[str, str] | None) -> dict[str, str]:
        headers = {"Authorization": f"Bearer {key or self.endpoints.operator_key}"}
        if position is not None:
            headers["Dormouse-Position"] = position
        headers.update(more or {})
        return headers


@dataclass(frozen=True)
class Event:
    """A server-sent event, or a comment such as ``open``."""

    id: str | None
    data: Record
    comment: str | None = None


def _events(response: httpx.Response) -> Generator[Event, None, None]:
    fields: dict[str, str] = {}
    for line in response.iter_lines():
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if name:
            fields[name] = value
        elif value:
            yield Event(None, Record({}), comment=value)
        else:
            if "data" in fields:
                yield Event(fields.get("id"), Record.parse(fields["data"]))
            fields = {}


def _is_of_earlier_log(response: httpx.Response) -> bool:
    return Record.parse(response.content).text("code") == "earlier_incarnation"


def _retry_after(response: httpx.Response, pause: float) -> float:
    try:
        return min(float(response.headers.get("Retry-After", "")), 5)
    except ValueError:
        return pause


def _checked(response: httpx.Response, call: str) -> Answer:
    record = Record.parse(response.content)
    if response.is_success:
        return Answer(record, response.headers.get("Dormouse-Position"), response.content, response.status_code)
    detail = _detail(record) or response.text[:200]
    raise Problem(call, response.status_code, record.text("code", "no_code"), detail)


def _detail(record: Record) -> str:
    faults = "".join(f"; {fault.text('pointer')} {fault.text('detail')}" for fault in record.records("errors"))
    return (record.text("detail") or record.text("title")) + faults
