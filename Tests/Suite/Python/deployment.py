"""What must hold of docker-compose.yml beyond its schema. Each fault is a line; none is silence.

Usage: deployment.py COMPOSE_FILE HELP_FOLDER - the folder has what `SERVICE --help` prints, in SERVICE.txt
"""
import pathlib
import re
import sys

import yaml

compose = yaml.safe_load(pathlib.Path(sys.argv[1]).read_text())
help_folder = pathlib.Path(sys.argv[2])
services = compose["services"]
ours = ["lifecycle", "fetch", "push", "transfer", "ops"]
# These run to their end, or are there for a demonstration.
passing = {"migrate", "fleet"}


def fault(text):
    print(text)


def settings_of(service):
    text = (help_folder / f"{service}.txt").read_text()
    return {
        name.upper().replace("-", "_"): line
        for name, line in re.findall(r"^  --([a-z0-9-]+) +(.*)$", text, re.M)
    }


def named(entry):
    """The secrets, or volumes, that a service names."""
    return {item if isinstance(item, str) else item["source"] for item in entry or []}


for name, service in services.items():
    image = service.get("image", "")
    if "build" not in service and not re.search(r":v?\d+\.\d+(\.\d+)?(-[a-z0-9]+)?$", image):
        fault(f"{name}: the image {image!r} has no pinned version")
    user = str(service.get("user", "root")).split(":")[0]
    if user in ("root", "0"):
        fault(f"{name}: runs as root")
    if not service.get("read_only"):
        fault(f"{name}: its root can be written to")
    if service.get("cap_drop") != ["ALL"] or "no-new-privileges:true" not in service.get("security_opt", []):
        fault(f"{name}: keeps capabilities")
    if "memory" not in service.get("deploy", {}).get("resources", {}).get("limits", {}):
        fault(f"{name}: no limit of memory")
    if name not in passing and "healthcheck" not in service:
        fault(f"{name}: no health check")
    if name not in passing and service.get("restart") != "unless-stopped":
        fault(f"{name}: is not restarted")
    for secret in named(service.get("secrets")) - set(compose["secrets"]):
        fault(f"{name}: the secret {secret} is nowhere")
    for port in service.get("ports", []):
        if not str(port).startswith("${BIND_ADDRESS:-127.0.0.1}:"):
            fault(f"{name}: the port {port} is open to everybody")
    for other, condition in service.get("depends_on", {}).items():
        wanted = "service_completed_successfully" if other == "migrate" else "service_healthy"
        if other not in services or condition.get("condition") != wanted:
            fault(f"{name}: does not wait until {other} is {wanted}")
    for variable, value in service.get("environment", {}).items():
        if re.search(r"PASSWORD|SECRET|KEY", variable) and not re.search(r"_FILE$", variable):
            fault(f"{name}: {variable} is no file")
        path = re.fullmatch(r"/run/secrets/(.+)", str(value))
        if path and path[1] not in named(service.get("secrets")):
            fault(f"{name}: {variable} names a secret that the service does not get")

for name in ours:
    service, known = services[name], settings_of(name)
    given = set(service.get("environment", {}))
    for variable in given - set(known):
        fault(f"{name}: {variable} is no setting of it")
    # The other way: what it can't do without is given.
    needed = {"DATABASE_URL", "DATABASE_PASSWORD_FILE", "OPERATOR_KEY_FILE", "PARTITIONS", "PORT"}
    for variable in needed - given:
        fault(f"{name}: {variable} is not set")
    # What the image must have a place for: a path of its own stands in a volume or is a secret.
    for variable in given:
        value = str(service["environment"][variable])
        targets = {volume.split(":")[1] for volume in service.get("volumes", [])}
        if value.startswith("/") and not value.startswith("/run/secrets/") and value not in targets:
            fault(f"{name}: {variable} is {value}, where no volume is")
    for other in ("postgres", "migrate"):
        if other not in service.get("depends_on", {}):
            fault(f"{name}: does not wait for {other}")
for variable in set(services["migrate"].get("environment", {})) - set(settings_of("ops")):
    fault(f"migrate: {variable} is no setting")
for kind in ("volumes", "secrets"):
    used = set()
    for service in services.values():
        for item in service.get(kind, []):
            source = item if isinstance(item, str) else item["source"]
            used.add(source.split(":")[0])
    for name in set(compose[kind]) - used:
        fault(f"{kind}: nobody uses {name}")
