"""Checks deploy/docker/https.yml, an overlay of docker-compose.yml. Prints one line per fault.

Usage: https.py COMPOSE_FILE OVERLAY PROMETHEUS_FOLDER CERTIFICATE HELP_FOLDER - CERTIFICATE is the script
deploy/docker/certificate, the last folder has what `SERVICE --help` prints, in SERVICE.txt
"""
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import yaml
from suite import Settings, ours

compose, overlay = (yaml.safe_load(pathlib.Path(path).read_text()) for path in sys.argv[1:3])
monitoring, certificate = pathlib.Path(sys.argv[3]), pathlib.Path(sys.argv[4])
settings = Settings(sys.argv[5])
FOLDER = "${TLS_FOLDER:-./.dormouse/compose/tls}"
FILES = {"tls.crt", "tls.key", "ca.crt", "authorities.crt"}
# Only a demonstration uses these names as a client.
NAMES = {*ours, "gateway"}


def fault(text):
    print(text)


def mounts(service):
    """Returns the sources of the mounts of a service by their targets."""
    parts = [re.split(":(?!-)", item) for item in service.get("volumes", [])]
    return {target: source for source, target, *_ in parts}


def merged(name):
    """Returns a service with the overlay as Compose merges it: by variable, by target of a mount, else as a whole."""
    first, second = compose["services"].get(name, {}), overlay["services"][name]
    for key in second.keys() - {"environment", "volumes", "command"}:
        fault(f"{name}: this check does not know {key}")
    return {
        **first, **second, "environment": {**first.get("environment", {}), **second.get("environment", {})},
        "mounts": {**mounts(first), **mounts(second)},
    }


for name in overlay["services"].keys() - compose["services"].keys():
    fault(f"{name}: docker-compose.yml has no such service")
for name in {*ours, "gateway", "fleet", "prometheus"} - overlay["services"].keys():
    fault(f"{name}: has no HTTPS")
services = {name: merged(name) for name in overlay["services"]}
for name, service in services.items():
    environment, places = service["environment"], service["mounts"]
    for variable in environment.keys() - settings.known.get(name, environment.keys()):
        fault(f"{name}: {variable} is not one of its settings")
    for target, source in places.items():
        if source.startswith(FOLDER) and source.removeprefix(FOLDER + "/") not in {FOLDER, *FILES}:
            fault(f"{name}: no file {source}")
        # Only the services read the key.
        if source == FOLDER and name not in ours:
            fault(f"{name}: can read the key")
    if name in ours:
        wanted = {"TLS_CERTIFICATE": "/run/tls/tls.crt", "TLS_KEY": "/run/tls/tls.key"}
        if {key: environment.get(key) for key in wanted} != wanted or places.get("/run/tls") != FOLDER:
            fault(f"{name}: has no certificate")
    words = [str(word) for word in (*environment.values(), *service.get("command", []))]
    for address in re.findall(r"http://([a-z]+):", " ".join(words)):
        if address in NAMES:
            fault(f"{name}: reaches {address} by HTTP")
    for path in re.findall(r"/run/tls/[\w.]+", " ".join(words)):
        file = path.rpartition("/")[2]
        if name != "gateway" and (file not in FILES or not {path, "/run/tls"} & places.keys()):
            fault(f"{name}: {path} is not mounted")
if services["ops"]["environment"].get("SERVICES_AUTHORITY") != "/run/tls/ca.crt":
    fault("ops: does not trust the certificate of the services")
if services["transfer"]["mounts"].get("/etc/ssl/certs/ca-certificates.crt") != f"{FOLDER}/authorities.crt":
    fault("transfer: does not trust its own certificate")
if not services["gateway"]["environment"].get("TLS_CERTIFICATE"):
    fault("gateway: checks health by HTTP")
# The demonstration is the same, and trusts both authorities.
command = " ".join(compose["services"]["fleet"]["command"]).replace("http://", "https://")
line = " ".join(services["fleet"]["command"][-1].replace("\\\n", " ").split())
begin, _, run = line.partition(" exec ")
if run != command.replace("--ca=/apns/ca.pem", "--ca=/tmp/authorities.pem"):
    fault(f"fleet: its command differs from docker-compose.yml: {run}")
if begin != "cat /apns/ca.pem /run/tls/ca.crt >/tmp/authorities.pem":
    fault(f"fleet: trusts other authorities: {begin}")

# Prometheus scrapes the same targets, by HTTPS.
plain = yaml.safe_load((monitoring / "prometheus.yml").read_text())
secured = yaml.safe_load((monitoring / "prometheus.https.yml").read_text())
for job in secured["scrape_configs"]:
    name, wanted = job["job_name"], {"ca_file": "/run/tls/ca.crt", "server_name": job["job_name"]}
    if job.pop("scheme", "http") != "https" or job.pop("tls_config", {}) != wanted:
        fault(f"prometheus.https.yml: {name} is scraped by HTTP, or its certificate is refused")
if secured != plain:
    fault("prometheus.https.yml: differs from prometheus.yml in more than HTTPS")
places = services["prometheus"]["mounts"]
if places["/etc/prometheus/prometheus.yml"] != "./deploy/prometheus/prometheus.https.yml":
    fault("prometheus: has no scrapes by HTTPS")
if places.get("/run/tls/ca.crt") != f"{FOLDER}/ca.crt":
    fault("prometheus: has no authority")

# The certificate for trials has all names. A second run keeps it.
with tempfile.TemporaryDirectory() as temporary:
    script = pathlib.Path(temporary, "deploy/docker/certificate")
    script.parent.mkdir(parents=True)
    shutil.copy(certificate, script)
    folder = pathlib.Path(temporary, ".dormouse/compose/tls")
    contents = []
    for _ in range(2):
        done = subprocess.run([script, "films.example"], capture_output=True, text=True)
        if done.returncode:
            fault(f"certificate: status {done.returncode}: {done.stderr}")
            raise SystemExit
        contents.append({path.name: path.read_bytes() for path in folder.iterdir()})
    if contents[0] != contents[1] or contents[0].keys() != FILES:
        fault(f"certificate: makes {sorted(contents[0])}, or a second run makes others")
    for authority in ("ca.crt", "authorities.crt"):
        for name in [*NAMES, "localhost", "films.example"]:
            done = subprocess.run(
                ["openssl", "verify", "-CAfile", authority, "-verify_hostname", name, "tls.crt"], cwd=folder,
                capture_output=True, text=True)
            if done.returncode:
                fault(f"certificate: {authority} does not verify the name {name}: {done.stderr}")
    if folder.parent.stat().st_mode & 0o077 or not (folder / "tls.key").stat().st_mode & 0o004:
        fault("certificate: other users of the machine can read the key, or the containers can't")
