"""Steps of compose.py that follow the documentation: the start, monitoring, a backup, other secrets, and ways out."""
import base64
import http.server
import json
import os
import re
import threading
import time

import compose_engine as engine
import roles
from compose_clients import PORTS, Load, call, counts, expect, get, insist, is_sound, launch, say
from compose_engine import compose, documented, documented_line, follow


def start():
    """The first commands of the documentation. Another `up` then leaves the containers as they are."""
    engine.configure(REVISION="trial-1")
    follow(documented("deploy/README.md", "./deploy/docker/secrets"))
    first = engine.containers()
    say(f"up: {', '.join(sorted(first))}")
    compose("up", "--wait", "--detach")
    second = engine.containers()
    recreated = [name for name in first if name != "migrate" and first[name] != second[name]]
    expect(not recreated, f"a second `up` recreates {recreated}")
    are_ready()
    rows = compose("exec", "-T", "postgres", "psql", "-XAtq", "--username=postgres", "--command", roles.QUERY)
    expect(not roles.fault(rows), roles.fault(rows))
    say(f"roles: {len(roles.NAMES)} without the rights of a superuser")


def are_ready():
    for name, port in PORTS.items():
        answer = get(port, "/readyz")
        expect(answer.status == 200 and "errors" not in answer.document, f"{name} is not ready: {answer}")


def observe():
    """Prometheus and Grafana of the profile `observability`, as far as the engine has their images."""
    text = (engine.folder / "docker-compose.yml").read_text()
    images = dict(re.findall(r"image: ((?:prom|grafana)/(\w+):\S+)", text))
    present = [name for image, name in images.items() if engine.is_present(image)]
    for image, name in images.items():
        if name not in present:
            say(f"skipped: no image of {name} ({image})")
    if "prometheus" not in present:
        return
    compose("--profile", "observability", "up", "--wait", "--detach", *present)
    check_prometheus()
    if "grafana" in present:
        check_grafana()
    compose("--profile", "observability", "rm", "--stop", "--force", *present)


def check_prometheus():
    answer = get(9090, "/-/ready")
    expect(answer.status == 200, f"Prometheus is not ready: {answer}")
    replicas = {name: len(engine.containers()[name]) for name in PORTS}
    end = time.monotonic() + 90
    while True:
        targets = get(9090, "/api/v1/targets?state=active").document["data"]["activeTargets"]
        up = [target["labels"]["job"] for target in targets if target["health"] == "up"]
        if {name: up.count(name) for name in PORTS} == replicas or time.monotonic() > end:
            break
        time.sleep(1)
    found = {target["labels"]["job"]: (target["health"], target["lastError"]) for target in targets}
    expect(len(up) == len(targets) == sum(replicas.values()), f"targets of Prometheus: {found}")
    groups = get(9090, "/api/v1/rules").document["data"]["groups"]
    loaded = sorted(rule["name"] for group in groups for rule in group["rules"])
    text = (engine.folder / "deploy/prometheus/rules.yml").read_text()
    written = sorted(re.findall(r"^\s*-? *(?:alert|record): (\S+)", text, re.M))
    expect(written and loaded == written, f"rules of Prometheus: {set(written) ^ set(loaded)}")
    say(f"Prometheus: {len(targets)} targets are up, {len(loaded)} rules are loaded")


def check_grafana():
    administrator = base64.b64encode(f"admin:{engine.secret('grafana-admin')}".encode()).decode()

    def ask(path):
        return get(3000, path, {"Authorization": f"Basic {administrator}"})

    answer = get(3000, "/api/health")
    expect(answer.status == 200 and answer.document.get("database") == "ok", f"Grafana: {answer}")
    sources = {source["uid"] for source in ask("/api/datasources").document}
    expect(sources == {"prometheus", "dormouse-log"}, f"data sources of Grafana: {sources}")
    for source in sorted(sources):
        answer = ask(f"/api/datasources/uid/{source}/health")
        expect(answer.document.get("status") == "OK", f"the data source {source} of Grafana: {answer}")
    files = (engine.folder / "deploy/grafana/dashboards").glob("*.json")
    written = {json.loads(file.read_text())["title"] for file in files}
    found = {board["title"] for board in ask("/api/search?type=dash-db").document}
    expect(written and found == written, f"dashboards of Grafana: {found}")
    say(f"Grafana: {len(sources)} data sources, {len(found)} dashboards")


def back_up():
    """The backup of the documentation, then its restore into empty volumes: the log, the files, the authority."""
    film, note, app = os.urandom(3 << 20), os.urandom(1000), "/v1/devices/backup/apps/com.example.backup"
    launch("backup", "com.example.backup")
    insist("transfer", "PUT", "/content/films/trial", film)
    insist("transfer", "PUT", f"{app}/files/note", note)
    authority = engine.folder / "ca.pem"
    follow(documented_line("deploy/README.md", "docker compose cp push:/apns/ca.pem"))
    certificate = authority.read_bytes()
    follow(documented("deploy/backup.md", "install -d -m 700"))
    before = counts()
    insist("transfer", "PUT", "/content/later", b"later")
    compose("down", "--volumes")
    label = f"label=com.docker.compose.project={engine.PROJECT}"
    left = set(engine.run("volume", "ls", "--quiet", "--filter", label).split())
    left &= {f"{engine.PROJECT}_{name}" for name in ("database", "content", "apns")}
    expect(not left, f"these volumes are left: {left}")
    files = [engine.folder.parent / "dormouse-backup" / name for name in ("dormouse.dump", "content.tar", "apns.tar")]
    sizes = ", ".join(f"{file.stat().st_size} bytes in {file.name}" for file in files)
    say(f"backup: {sizes}; the volumes are gone")

    restore, _, accept = documented("deploy/backup.md", "docker compose up --detach --wait postgres").rpartition("\n")
    follow(restore)
    expect(counts() == before, f"the restore has other events: {before} {counts()}")
    is_sound()
    expect(get(PORTS["transfer"], "/content/films/trial").body == film, "the content has other bytes")
    expect(call("transfer", "GET", f"{app}/files/note").body == note, "the file of the app has other bytes")
    expect(get(PORTS["transfer"], "/content/later").status == 404, "the content of after the backup is there")
    authority.unlink()
    follow(documented_line("deploy/README.md", "docker compose cp push:/apns/ca.pem"))
    expect(authority.read_bytes() == certificate, "providers must trust another authority")
    # The content belongs to an earlier incarnation until an operator has looked at it.
    answer = get(PORTS["transfer"], "/readyz")
    expect(answer.document["checks"].get("data_directory") == "failing", f"the content was not questioned: {answer}")
    follow(accept)
    compose("restart", "transfer")
    compose("up", "--wait", "--detach")
    are_ready()
    with Load() as load:
        time.sleep(3)
    load.check("restored the backup")


def change_operators():
    """A further operator and another operator key, which the running containers must see."""
    before = engine.containers()
    key = follow(documented("deploy/README.md", "key=") + '\nprintf %s "$key"').strip()
    former = engine.secret("operator-key")
    (engine.folder / ".dormouse/compose/operator-key").unlink()
    follow("./deploy/docker/secrets")
    end = time.monotonic() + 30
    for name in PORTS:
        statuses = []
        while statuses != [200, 200, 401] and time.monotonic() < end:
            time.sleep(0.5)
            statuses = [
                call(name, "GET", "/v1/log-level", token=token).status for token in (key, None, former)]
        expect(statuses == [200, 200, 401], f"{name} answers the further, the new and the former key with {statuses}")
    expect(engine.containers() == before, "the keys needed other containers")
    say("operators: a further one and another key, in the same containers")


def change_secrets():
    """Other passwords: of the database's owner, and of a service."""
    for name in ("database-owner", "database-lifecycle"):
        (engine.folder / ".dormouse/compose" / name).unlink()
    follow("./deploy/docker/secrets")
    text = compose("run", "--rm", "migrate", check=False)
    expect("refuses the role or password" in text, f"the owner's new password works already: {text[-500:]}")
    follow(documented("deploy/README.md", "docker compose up --detach --wait --force-recreate postgres"))
    are_ready()
    with Load() as load:
        time.sleep(3)
    load.check("changed secrets")


class Origin(http.server.BaseHTTPRequestHandler):
    """A server outside of the project. It counts its requests."""

    film = os.urandom(100_000)
    requests = 0

    def do_GET(self):
        Origin.requests += 1
        self.send_response(200)
        self.send_header("Content-Length", str(len(self.film)))
        self.end_headers()
        self.wfile.write(self.film)

    def log_message(self, *_):
        pass


def open_way_out():
    """`transfer` reaches nothing outside of the project, until EGRESS_INTERNAL opens its network."""
    host = engine.inspect("network", "bridge")["IPAM"]["Config"][0].get("Gateway")
    try:
        server = http.server.ThreadingHTTPServer((host, 0), Origin)
    except OSError as error:
        server = None
        say(f"skipped: connections to a server outside: the engine's bridge is not on this machine ({error})")
    if server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
    origin = f"http://{host}:{server.server_address[1]}" if server else "http://origin.example"
    check_ways_out(server, is_open=False)
    engine.configure(EGRESS_INTERNAL="false", ALLOWED_ORIGINS=origin)
    compose("down")
    compose("up", "--wait", "--detach")
    check_ways_out(server, is_open=True)
    if server:
        download(origin)
    engine.configure()
    compose("down")
    compose("up", "--wait", "--detach")
    check_ways_out(server, is_open=False)
    if server:
        server.shutdown()
        server.server_close()


def check_ways_out(server, is_open):
    found = {}
    for name in (*PORTS, "postgres", "maintain"):
        container = engine.containers()[name][0]
        networks = engine.inspect("container", container)["NetworkSettings"]["Networks"]
        ways_out = [network for network in networks if not engine.inspect("network", network)["Internal"]]
        wanted = [f"{engine.PROJECT}_origins"] if is_open and name == "transfer" else []
        if ways_out:
            found[name] = ways_out
        expect(ways_out == wanted, f"{name} has the ways out {ways_out}, not {wanted}")
        if server:
            address, port = server.server_address
            connect = f"timeout 5 bash -c 'exec 3<>/dev/tcp/{address}/{port}' && echo reached"
            reached = "reached" in compose("exec", "-T", name, "sh", "-c", connect, check=False).split()
            expect(reached == bool(wanted), f"{name} {'reaches' if reached else 'does not reach'} a server outside")
    say(f"ways out: {found or 'none'}")


def download(origin):
    """A background download from the server outside."""
    launch("outside", "com.example.outside")
    path = "/v1/devices/outside/apps/com.example.outside/sessions/films"
    insist("transfer", "PUT", path, {})
    insist("transfer", "POST", f"{path}/downloads", {"url": f"{origin}/film", "resume": True})
    end = time.monotonic() + 60
    while True:
        task = call("transfer", "GET", f"{path}/tasks/1").document
        if task.get("state") == "completed" or time.monotonic() > end:
            break
        time.sleep(0.5)
    fine = task.get("state") == "completed" and task.get("error") is None and Origin.requests > 0
    expect(fine, f"the download from a server outside: {Origin.requests} requests, {task}")
    say(f"transfer has downloaded {len(Origin.film)} bytes from a server outside")
