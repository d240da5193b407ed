"""Checks deploy/docker/citus.yml, an overlay of docker-compose.yml. Prints one line per fault.

Usage: citus.py COMPOSE_FILE OVERLAY HELP_FOLDER - the last one is not used
"""
import pathlib
import sys

import yaml

compose, overlay = (yaml.safe_load(pathlib.Path(path).read_text()) for path in sys.argv[1:3])
root = pathlib.Path(sys.argv[1]).resolve().parent
base, services = compose["services"], overlay["services"]
workers = sorted(name for name in services if name.startswith("worker"))


def fault(text):
    print(text)


def options(service):
    """Returns the settings of PostgreSQL in the command of a service."""
    words = service["command"]
    return dict(word.split("=", 1) for flag, word in zip(words, words[1:]) if flag == "-c")


def waits(name):
    """Returns the services that a service waits for, each with the condition."""
    return {other: how["condition"] for other, how in services[name].get("depends_on", {}).items()}


if not workers:
    fault("there are no workers")
nodes = {name: services[name] for name in ("postgres", *workers)}
image = services["join"]["image"]
if not image.startswith("citusdata/citus:") or int(image.partition(":")[2].partition(".")[0]) < 13:
    fault(f"join: {image} is no image of Citus 13 or newer")
for name, service in nodes.items():
    if service["image"] != image:
        fault(f"{name}: has another image than join")
    settings = options(service)
    if settings.get("shared_preload_libraries") != "citus" or settings.get("wal_level") != "logical":
        fault(f"{name}: does not load Citus, or can't move shards")
    if int(settings.get("max_prepared_transactions", 0)) < int(settings.get("max_connections", 100)):
        fault(f"{name}: max_prepared_transactions is less than max_connections")
    for setting, value in options(base["postgres"]).items():
        if settings.get(setting) != value:
            fault(f"{name}: {setting} differs from docker-compose.yml")
    if "nodes" not in service["networks"] or "ports" in service:
        fault(f"{name}: the other nodes do not reach it, or everybody does")
for name in workers:
    service = services[name]
    if service["networks"] != ["nodes"]:
        fault(f"{name}: more than the nodes reach it, and it trusts its clients")
    data = [volume.split(":") for volume in service.get("volumes", [])]
    if [target for _, target in data] != ["/var/lib/postgresql/data"] or data[0][0] not in overlay["volumes"]:
        fault(f"{name}: has no volume for its data")
    for key in ("read_only", "cap_drop", "security_opt", "user", "restart", "healthcheck", "stop_signal"):
        if service.get(key) is None:
            fault(f"{name}: lacks {key}")
volumes = [volume for name in workers for volume in services[name].get("volumes", [])]
if len(set(volumes)) < len(volumes):
    fault("two workers share a volume")
if not overlay["networks"]["nodes"].get("internal"):
    fault("nodes: the network reaches other hosts")
if services["join"]["command"] != workers:
    fault(f"join: adds {services['join']['command']}, not {workers}")
if waits("join") != dict.fromkeys(nodes, "service_healthy"):
    fault("join: does not wait until all nodes are healthy")
if waits("migrate").get("join") != "service_completed_successfully":
    fault("migrate: does not wait for join")
for source in (volume.split(":")[0] for volume in services["join"].get("volumes", [])):
    if not (root / source).is_file():
        fault(f"join: no file {source}")
