"""Brings docker-compose.yml up in a Docker engine, as its documentation says, and checks the suite through the gateway:
the demonstration fleet, kills under load, replicas, restarts, an upgrade, and a backup with its restore.

Usage: compose.py [CHECKOUT]

DOCKER is the command of Docker (default: docker), with the Compose plugin. The project is `dormouse-trial`, and its ports
are published on 127.0.0.9, so a suite that runs on this machine is not touched. Prints a line for each step. Without an
engine it prints "skipped: no Docker engine". Ends with status 1 and the faults if there are any.
"""
import concurrent.futures
import contextlib
import http.client
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile
import threading
import time
import uuid

docker = shlex.split(os.environ.get("DOCKER", "docker"))
checkout = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parents[3]).resolve()
PROJECT = "dormouse-trial"
ADDRESS = "127.0.0.9"
PORTS = {"ops": 8080, "lifecycle": 8081, "fetch": 8082, "push": 8083, "transfer": 8084}
faults = []
begun = time.monotonic()


def say(text):
    print(f"{time.monotonic() - begun:7.1f} s  {text}", flush=True)


def expect(holds, text):
    if not holds:
        faults.append(text)
        say(f"FAULT: {text}")


def run(*words, check=True, **options):
    """Runs Docker; returns its output."""
    environment = {**os.environ, "BIND_ADDRESS": ADDRESS, "COMPOSE_PROJECT_NAME": PROJECT}
    given = options.pop("environment", {})
    # A command in front of Docker, such as nsenter, may pass no environment on.
    variables = [f"{name}={value}" for name, value in {"BIND_ADDRESS": ADDRESS, "COMPOSE_PROJECT_NAME": PROJECT, **given}.items()]
    command = docker[:-1] + ["env"] + variables + docker[-1:] + list(words) if len(docker) > 1 else docker + list(words)
    done = subprocess.run(
        command, cwd=checkout, env={**environment, **given}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        timeout=3600, **options)
    text = done.stdout.decode(errors="replace") if isinstance(done.stdout, bytes) else done.stdout
    if check and done.returncode != 0:
        raise SystemExit(f"{' '.join(words)}: status {done.returncode}\n{text[-3000:]}")
    return text


def compose(*words, **options):
    return run("compose", *words, **options)


def call(service, method, path, document=None, key=None, token=None, timeout=20):
    """Sends a request through the gateway; returns the status and the document."""
    connection = http.client.HTTPConnection(ADDRESS, PORTS[service], timeout=timeout)
    try:
        headers = {"Authorization": f"Bearer {token or operator}", "Connection": "close"}
        if document is not None:
            headers["Content-Type"] = "application/json"
        if key:
            headers["Idempotency-Key"] = key
        connection.request(method, path, json.dumps(document) if document is not None else None, headers)
        answer = connection.getresponse()
        text = answer.read()
        return answer.status, json.loads(text) if text[:1] in b"{[" and text else text
    finally:
        connection.close()


def insist(service, method, path, document=None, token=None, limit=120):
    """Sends a request until it is answered with success, always with the same idempotency key."""
    key, end, repeats = str(uuid.uuid4()), time.monotonic() + limit, 0
    while True:
        try:
            status, answer = call(service, method, path, document, key, token)
            if 200 <= status < 300:
                return answer, repeats
            if status not in (429, 503, 504):
                raise SystemExit(f"{method} {path} of {service}: {status} {answer}")
        except (OSError, http.client.HTTPException):
            pass
        if time.monotonic() > end:
            raise SystemExit(f"{method} {path} of {service}: no success within {limit} s")
        repeats += 1
        time.sleep(0.1)


def containers():
    """The containers of the project, by service, with their ids."""
    rows = [json.loads(line) for line in compose("ps", "--all", "--format", "json").splitlines() if line.startswith("{")]
    found = {}
    for row in rows:
        found.setdefault(row["Service"], []).append((row["ID"], row["State"]))
    return found


def is_sound():
    """Checks offsets, order and folds of the whole log."""
    status, answer = call("ops", "GET", "/v1/log/check", timeout=120)
    expect(status == 200 and answer.get("sound") is True, f"the log is not sound: {status} {answer}")


class Load:
    """Writers that send commands through the gateway, each until it is acknowledged."""

    count = 0

    def __init__(self, writers=8):
        Load.count += 1
        self.name = f"load-{Load.count}"
        self.writers = writers
        self.done = threading.Event()
        self.acknowledged = {}
        self.repeats = 0

    def __enter__(self):
        self.pool = concurrent.futures.ThreadPoolExecutor(self.writers)
        self.results = [self.pool.submit(self.write, f"{self.name}-{number}") for number in range(self.writers)]
        return self

    def write(self, device):
        count, repeats = 0, 0
        path = f"/v1/devices/{device}"
        insist("lifecycle", "PUT", path, {"profile": "ios18"})
        insist("lifecycle", "PUT", f"{path}/apps/com.example.load", {})
        insist("lifecycle", "POST", f"{path}/apps/com.example.load/transitions", {"event": "launch"})
        while not self.done.is_set():
            level = 1 + count % 100
            _, more = insist("lifecycle", "PATCH", f"{path}/conditions", {"battery": {"level": level / 100}})
            count, repeats = count + 1, repeats + more
        return device, count, repeats

    def __exit__(self, kind, value, trace):
        self.done.set()
        for result in self.results:
            device, count, repeats = result.result()
            self.acknowledged[device] = self.acknowledged.get(device, 0) + count
            self.repeats += repeats
        self.pool.shutdown()
        return False

    @property
    def total(self):
        return sum(self.acknowledged.values())


def count_events(device, kind):
    count, cursor = 0, ""
    while True:
        _, page = call("ops", "GET", f"/v1/events?device={device}&type={kind}&limit=500&order=oldest{cursor}")
        count += len(page["items"])
        if not page.get("next"):
            return count
        cursor = f"&cursor={page['next']}"


totals = {}


def check_load(load, what):
    """Each acknowledged command is in the log exactly once."""
    time.sleep(1)
    for device, count in load.acknowledged.items():
        totals[device] = totals.get(device, 0) + count
        found = count_events(device, "lifecycle.conditions.changed")
        expect(found == totals[device], f"{what}: {device} has {found} events for {totals[device]} commands")
    is_sound()
    say(f"{what}: {load.total} commands acknowledged, {load.repeats} repeated, none lost")


def steps():
    folder = pathlib.Path(tempfile.mkdtemp(prefix="dormouse-trial-"))
    say("building the image")
    compose("build", environment={"REVISION": "trial-1"})
    compose("up", "--wait", "--detach")
    first = containers()
    say(f"up: {', '.join(sorted(first))}")
    compose("up", "--wait", "--detach")
    second = containers()
    recreated = [name for name in first if name != "migrate" and first[name][0][0] != second[name][0][0]]
    expect(not recreated, f"a second `up` recreates {recreated}")
    for name, port in PORTS.items():
        status, answer = call(name, "GET", "/readyz")
        expect(status == 200, f"{name} is not ready: {answer}")

    # The demonstration fleet: orders, wakes, transfers, and pushes over HTTP/2 and TLS.
    text = compose(
        "--profile", "demo", "run", "--rm", "fleet", "fleet", "run", "--devices=30", "--for=25s", "--rate=60",
        *[f"--{name}=http://gateway:{PORTS[name]}" for name in ("lifecycle", "fetch", "push", "transfer")],
        "--operator-key-file=/run/secrets/operator-key", "--apns=https://gateway:2197", "--ca=/apns/ca.pem",
        "--pushes-per-minute=60")
    say("fleet: " + " ".join(text.split()[-28:]))
    expect("PASSED" in text and re.search(r"\berrors +0\b", text), f"the fleet had errors: {text[-1000:]}")
    is_sound()

    # The services know the addresses of the clients, not that of the gateway.
    call("ops", "GET", "/v1/devices", token="not-a-key")
    call("lifecycle", "PUT", "/v1/log-level", {"level": "info"})
    rows = call("ops", "GET", "/v1/audit?action=logLevel.set")[1]["items"]
    gateway = run(
        "inspect", "--format", "{{range .NetworkSettings.Networks}}{{.IPAddress}} {{end}}", first["gateway"][0][0])
    address = rows[0].get("address") if rows else None
    expect(address and address not in gateway.split(), f"the address of the client is that of the gateway: {address}")
    say(f"audit: the client is {address}, the gateway has {gateway.split()}")

    with Load() as load:
        for name in ("lifecycle", "push", "fetch", "transfer", "ops", "gateway", "postgres"):
            time.sleep(1)
            compose("kill", "--signal", "KILL", name)
            compose("up", "--wait", "--detach", "--no-recreate")
    check_load(load, "killed each service in turn")

    with Load() as load:
        compose("up", "--wait", "--detach", "--no-recreate", "--scale", "push=3", "--scale", "lifecycle=2")
        time.sleep(3)
        compose("up", "--wait", "--detach", "--no-recreate", "--scale", "push=1", "--scale", "lifecycle=1")
    check_load(load, "scaled up and down")

    with Load() as load:
        time.sleep(1)
        compose("restart", "postgres")
        compose("up", "--wait", "--detach", "--no-recreate")
    check_load(load, "restarted PostgreSQL")

    with Load() as load:
        compose("build", environment={"REVISION": "trial-2"})
        before = containers()
        compose("up", "--wait", "--detach", environment={"REVISION": "trial-2"})
        after = containers()
        same = [name for name in PORTS if before[name][0][0] == after[name][0][0]]
        expect(not same, f"the upgrade left {same} as they were")
    check_load(load, "upgraded to another image")

    # The backup of the documentation, then a restore into empty volumes.
    dump = subprocess.run(
        docker[:-1] + ["env", f"COMPOSE_PROJECT_NAME={PROJECT}", docker[-1]] + [
            "compose", "exec", "-T", "postgres", "pg_dump", "-U", "postgres", "-Fc", "--no-owner", "--no-privileges",
            "dormouse"], cwd=checkout, stdout=subprocess.PIPE, check=True).stdout
    before = {device: count_events(device, "lifecycle.conditions.changed") for device in totals}
    compose("down", "--volumes")
    say(f"backup: {len(dump)} bytes; all volumes are gone")
    compose("up", "--wait", "--detach", "postgres")
    compose(
        "exec", "-T", "postgres", "pg_restore", "-U", "postgres", "--role=dormouse", "--no-owner", "--no-privileges",
        "--exit-on-error", "-d", "dormouse", input=dump)
    compose("run", "--rm", "migrate")
    compose(
        "run", "--rm", "--entrypoint", "sh", "migrate", "-euc",
        "MIGRATION_DATABASE_URL=postgres://dormouse:$(cat /run/secrets/database-owner)@postgres:5432/dormouse"
        " ops begin-incarnation")
    compose("up", "--wait", "--detach")
    after = {device: count_events(device, "lifecycle.conditions.changed") for device in totals}
    expect(before == after, f"the restore has other events: {before} {after}")
    is_sound()
    with Load() as load:
        time.sleep(3)
    check_load(load, "restored the backup")

    # The stop of the whole suite, with an open stream, takes less than the time of the gateway's hard stop.
    stream = http.client.HTTPConnection(ADDRESS, PORTS["ops"], timeout=60)
    stream.request("GET", "/v1/events/stream", headers={"Authorization": f"Bearer {operator}"})
    expect(stream.getresponse().status == 200, "no event stream")
    start = time.monotonic()
    compose("stop", "gateway")
    expect(time.monotonic() - start < 10, f"the gateway took {time.monotonic() - start:.1f} s to stop")
    for path in folder.iterdir():
        path.unlink()
    folder.rmdir()


with contextlib.suppress(OSError, subprocess.TimeoutExpired):
    answers = subprocess.run(docker + ["info"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=30).returncode == 0
if not locals().get("answers"):
    print("skipped: no Docker engine")
    raise SystemExit(0)
subprocess.run([str(checkout / "deploy/docker/secrets")], check=True, stdout=subprocess.DEVNULL)
operator = (checkout / ".dormouse/compose/operator-key").read_text().strip()
try:
    steps()
finally:
    compose("--profile", "demo", "down", "--volumes", "--timeout", "20", check=False)
if faults:
    raise SystemExit("\n".join(faults))
say("no faults")
