"""The clients of compose.py: requests through the gateway, and writers whose acknowledged commands are counted."""
import collections
import concurrent.futures
import http.client
import json
import threading
import time
import uuid

import compose_engine as engine

PORTS = {"ops": 8080, "lifecycle": 8081, "fetch": 8082, "push": 8083, "transfer": 8084}
faults = []
begun = time.monotonic()


def say(text):
    print(f"{time.monotonic() - begun:7.1f} s  {text}", flush=True)


def expect(holds, text):
    if not holds:
        faults.append(text)
        say(f"FAULT: {text}")


class Answer:
    """The status, the headers and the body of a response; `document` is the body if it is JSON.

    Without a response the status is 0, and the body names the failure of the connection.
    """

    def __init__(self, status, headers, body):
        self.status = status
        self.headers = headers
        self.body = body
        self.document = json.loads(body) if "json" in headers.get("Content-Type", "") else {}

    def __str__(self):
        return f"{self.status} {self.body[:300].decode(errors='replace')}"


def get(port, path, headers=None, timeout=20):
    """Reads from a published port without the operator key."""
    return send(port, "GET", path, None, headers or {}, timeout)


def send(port, method, path, body, headers, timeout=20):
    connection = http.client.HTTPConnection(engine.ADDRESS, port, timeout=timeout)
    try:
        connection.request(method, path, body, {**headers, "Connection": "close"})
        response = connection.getresponse()
        return Answer(response.status, response.headers, response.read())
    except (OSError, http.client.HTTPException) as error:
        return Answer(0, {}, repr(error).encode())
    finally:
        connection.close()


def call(service, method, path, document=None, key=None, token=None, timeout=20):
    """Sends a request through the gateway with the operator key. A document that is bytes is sent as it is."""
    headers = {"Authorization": f"Bearer {token or engine.secret('operator-key')}"}
    body = document
    if document is not None and not isinstance(document, bytes):
        headers["Content-Type"] = "application/json"
        body = json.dumps(document)
    if key:
        headers["Idempotency-Key"] = key
    return send(PORTS[service], method, path, body, headers, timeout)


def insist(service, method, path, document=None, limit=120, repeats=None, key=None):
    """Sends a request until it is answered with success, always with the same idempotency key.

    Counts in `repeats` why it was repeated: a status, or "connection" if the connection failed.
    """
    key, end = key or str(uuid.uuid4()), time.monotonic() + limit
    repeats = collections.Counter() if repeats is None else repeats
    while True:
        answer = call(service, method, path, document, key)
        if 200 <= answer.status < 300:
            return answer
        if answer.status not in (0, 429, 503, 504):
            raise SystemExit(f"{method} {path} of {service}: {answer}")
        if time.monotonic() > end:
            raise SystemExit(f"{method} {path} of {service}: no success within {limit} s, but {answer}")
        repeats[answer.status or "connection"] += 1
        time.sleep(0.1)


def launch(device, app):
    """Registers a device and launches an app on it."""
    path = f"/v1/devices/{device}"
    insist("lifecycle", "PUT", path, {"profile": "ios18"})
    insist("lifecycle", "PUT", f"{path}/apps/{app}", {})
    insist("lifecycle", "POST", f"{path}/apps/{app}/transitions", {"event": "launch"})


def is_sound():
    """Checks offsets, order and folds of the whole log."""
    answer = call("ops", "GET", "/v1/log/check", timeout=120)
    expect(answer.status == 200 and answer.document.get("sound") is True, f"the log is not sound: {answer}")


def count_events(device, kind):
    count, cursor = 0, ""
    while True:
        page = insist("ops", "GET", f"/v1/events?device={device}&type={kind}&limit=500&order=oldest{cursor}").document
        count += len(page["items"])
        if not page.get("next"):
            return count
        cursor = f"&cursor={page['next']}"


def counts():
    """The events of all writers so far, by device and type."""
    return {key: count_events(*key) for key in Load.totals}


class Load:
    """Writers that send commands to `lifecycle` and `push` through the gateway, each until it is acknowledged."""

    count = 0
    # The acknowledged commands of all loads, by device and type of their event.
    totals = collections.Counter()

    def __init__(self, writers=8):
        Load.count += 1
        self.name = f"load-{Load.count}"
        self.writers = writers
        self.done = threading.Event()
        self.acknowledged = collections.Counter()
        self.repeats = collections.Counter()

    def __enter__(self):
        self.pool = concurrent.futures.ThreadPoolExecutor(self.writers)
        self.results = [self.pool.submit(self.write, f"{self.name}-{number}") for number in range(self.writers)]
        return self

    def write(self, device):
        count, repeats = 0, collections.Counter()
        launch(device, "com.example.load")
        while not self.done.is_set():
            level = 1 + count % 100
            conditions = {"battery": {"level": level / 100}}
            insist("lifecycle", "PATCH", f"/v1/devices/{device}/conditions", conditions, repeats=repeats)
            insist("push", "PUT", f"/v1/devices/{device}/throttle", {"enabled": count % 2 == 1}, repeats=repeats)
            count += 1
        return device, count, repeats

    def __exit__(self, kind, value, trace):
        self.done.set()
        for result in self.results:
            device, count, repeats = result.result()
            for event in ("lifecycle.conditions.changed", "push.throttle.changed"):
                self.acknowledged[device, event] += count
            self.repeats += repeats
        self.pool.shutdown()
        return False

    def check(self, title):
        """Each acknowledged command is in the log exactly once."""
        time.sleep(1)
        Load.totals += self.acknowledged
        wrong = 0
        for (device, kind), count in self.acknowledged.items():
            found = count_events(device, kind)
            expect(found == count, f"{title}: {device} has {found} events {kind} for {count} commands")
            wrong += abs(found - count)
        is_sound()
        reasons = ", ".join(f"{count} for {reason}" for reason, count in sorted(self.repeats.items(), key=str))
        total = self.acknowledged.total()
        say(f"{title}: {total} commands acknowledged, {wrong} lost or twice; repeated: {reasons or 'none'}")
