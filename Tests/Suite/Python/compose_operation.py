"""Steps of compose.py: the suite in operation, with faults, replicas, a stopped database and an upgrade, under load."""
import collections
import http.client
import re
import time
import uuid

import compose_engine as engine
from compose_clients import PORTS, Load, call, expect, get, insist, is_sound, launch, say
from compose_engine import compose

# Creates missing containers, and leaves the others as they are.
UP = ["up", "--wait", "--detach", "--no-recreate"]


def simulate_fleet():
    """The demonstration fleet: orders, wakes, transfers, and pushes over HTTP/2 and TLS."""
    text = compose(
        "--profile", "demo", "run", "--rm", "fleet", "fleet", "run", "--devices=30", "--for=25s", "--rate=60",
        *[f"--{name}=http://gateway:{PORTS[name]}" for name in ("lifecycle", "fetch", "push", "transfer")],
        "--operator-key-file=/run/secrets/operator-key", "--apns=https://gateway:2197", "--ca=/apns/ca.pem",
        "--pushes-per-minute=60")
    say("fleet: " + " ".join(text.split()[-28:]))
    expect("PASSED" in text and re.search(r"\berrors +0\b", text), f"the fleet had errors: {text[-1000:]}")
    is_sound()


def check_addresses():
    """The services know the addresses of the clients, not that of the gateway."""
    call("ops", "GET", "/v1/devices", token="not-a-key")
    call("lifecycle", "PUT", "/v1/log-level", {"level": "info"})
    rows = call("ops", "GET", "/v1/audit?action=logLevel.set").document["items"]
    networks = engine.inspect("container", engine.containers()["gateway"][0])["NetworkSettings"]["Networks"]
    gateway = [network["IPAddress"] for network in networks.values()]
    address = rows[0].get("address") if rows else None
    expect(address and address not in gateway, f"the address of the client is that of the gateway: {address}")
    say(f"audit: the client is {address}, the gateway has {gateway}")


def kill_each():
    with Load() as load:
        for name in ("lifecycle", "push", "fetch", "transfer", "ops", "gateway", "postgres"):
            time.sleep(1)
            compose("kill", "--signal", "KILL", name)
            compose(*UP)
    load.check("killed each service in turn")


def scale():
    with Load() as load:
        compose(*UP, "--scale", "push=3", "--scale", "lifecycle=2")
        time.sleep(3)
        compose(*UP, "--scale", "push=1", "--scale", "lifecycle=1")
    load.check("scaled up and down")


def drain():
    """A replica that stops gets no new connection, and ends those that it has."""
    replicas = ["--scale", "push=2", "--scale", "lifecycle=2"]
    compose(*UP, *replicas)
    for name in ("push", "lifecycle"):
        expect(len(engine.containers()[name]) == 2, f"{name} has not two replicas")
    time.sleep(5)  # The gateway asks DNS every 2 s, and then checks the new replica.
    with Load() as load:
        for name in ("lifecycle", "push"):
            for replica in engine.containers()[name]:
                time.sleep(2)
                engine.run("stop", replica)
                status = engine.inspect("container", replica)["State"]["ExitCode"]
                expect(status == 0, f"a replica of {name} ended with {status} at its stop")
                engine.run("start", replica)
                engine.wait_until_healthy(replica)
                time.sleep(5)
    load.check("stopped each replica of lifecycle and push in turn")
    expect(load.repeats["connection"] == 0, f"{load.repeats['connection']} connections failed at the stop of a replica")
    compose(*UP, "--scale", "push=1", "--scale", "lifecycle=1")


def restart_database():
    with Load() as load:
        time.sleep(1)
        compose("restart", "postgres")
        compose(*UP)
    load.check("restarted PostgreSQL")


def stop_database():
    """Without its database each service answers 503 itself, and the gateway forwards that."""
    device, key = "/v1/devices/outage", str(uuid.uuid4())
    launch("outage", "com.example.outage")
    commands = {
        "lifecycle": ("PATCH", f"{device}/conditions", {"battery": {"level": 0.5}}),
        "fetch": ("PUT", f"{device}/apps/com.example.outage/minimum-interval", {"interval": 900}),
        "push": ("PUT", f"{device}/throttle", {"enabled": False}),
        "transfer": ("PUT", "/content/outage", b"outage"),
        "ops": ("GET", "/v1/devices", None),
    }
    compose("stop", "postgres")
    # Longer than the health check of a container needs to fail.
    outcomes, end = collections.Counter(), time.monotonic() + 45
    while time.monotonic() < end:
        for name, command in commands.items():
            outcomes[name, outcome_without_database(name, command, key)] += 1
        time.sleep(0.5)
    for name in PORTS:
        found = {outcome: count for (service, outcome), count in outcomes.items() if service == name}
        expect(found.get("database_unavailable"), f"{name} never said that its database is away: {found}")
        strange = [outcome for outcome in found if not re.fullmatch(r"[a-z_]+", outcome)]
        expect(not strange, f"{name} without its database: {found}")
        ready = get(PORTS[name], "/readyz")
        reported = ready.status == 200 and ready.document.get("checks", {}).get("database") == "failing"
        expect(reported, f"/readyz of {name} without its database: {ready}")
    for name, identities in engine.containers().items():
        state = engine.inspect("container", identities[0])
        health = state["State"].get("Health", {}).get("Status", "healthy")
        if name not in ("postgres", "migrate"):
            sound = state["State"]["Running"] and health == "healthy" and state["RestartCount"] == 0
            expect(sound, f"{name} without its database: {state['State']}, {state['RestartCount']} restarts")
    compose("start", "postgres")
    start, repeats = time.monotonic(), collections.Counter()
    for name, command in commands.items():
        insist(name, *command, limit=30, repeats=repeats, key=key)
    expect(repeats["connection"] == 0, f"{repeats['connection']} connections failed at the start of PostgreSQL")
    is_sound()
    refused = sum(count for (_, outcome), count in outcomes.items() if outcome == "database_unavailable")
    elapsed = time.monotonic() - start
    say(f"stopped PostgreSQL: {refused} of {outcomes.total()} commands got database_unavailable; "
        f"{elapsed:.1f} s after its start all succeed")


def outcome_without_database(name, command, key):
    """Returns the code of a refusal with Retry-After, or a sentence that says what came instead."""
    answer = call(name, *command, key=key)
    wait = answer.headers.get("Retry-After", "")
    if answer.status != 503 or not wait.isdigit():
        return f"{answer}, Retry-After {wait or 'missing'}"
    return answer.document.get("code") or f"{answer}"


def upgrade():
    with Load() as load:
        engine.configure(REVISION="trial-2")
        compose("build")
        before = engine.containers()
        compose("up", "--wait", "--detach")
        after = engine.containers()
        same = [name for name in PORTS if before[name][0] == after[name][0]]
        expect(not same, f"the upgrade left {same} as they were")
    load.check("upgraded to another image")


def stop_gateway():
    """A stop with an open stream takes less than the time of the gateway's hard stop."""
    stream = http.client.HTTPConnection(engine.ADDRESS, PORTS["ops"], timeout=60)
    stream.request("GET", "/v1/events/stream", headers={"Authorization": f"Bearer {engine.secret('operator-key')}"})
    expect(stream.getresponse().status == 200, "no event stream")
    start = time.monotonic()
    compose("stop", "gateway")
    expect(time.monotonic() - start < 10, f"the gateway took {time.monotonic() - start:.1f} s to stop")
    stream.close()
