"""Checks docker-compose.yml beyond its schema. Prints one line per fault, and nothing without faults.

Usage: deployment.py COMPOSE_FILE DOCKERFILE UP HELP_FOLDER - UP is deploy/up, the folder has what `SERVICE
--help` prints, in SERVICE.txt
"""
import pathlib
import re
import sys

import yaml
from suite import Settings, assigned, ours

compose = yaml.safe_load(pathlib.Path(sys.argv[1]).read_text())
image = pathlib.Path(sys.argv[2]).read_text()
up = pathlib.Path(sys.argv[3]).read_text()
settings = Settings(sys.argv[4])
services = compose["services"]
# These finish, or are only for a demonstration.
passing = {"migrate", "fleet"}
# This has no port that a health check could ask.
portless = {"maintain"}
# Only these may have the password of the database's owner, or of its superuser.
owners = {"database-owner": {"postgres", "migrate", "maintain"}, "database-superuser": {"postgres"}}
# Only an override sets these: their files need a mount, or they allow requests without a credential.
of_ones_own = {
    "TLS_CERTIFICATE", "TLS_KEY", "APNS_TLS_CERTIFICATE", "APNS_TLS_KEY", "APNS_CLIENT_AUTHORITY",
    "PROFILES_FILE", "SERVICES_AUTHORITY", "INSECURE_DEV", "OTEL_EXPORTER_OTLP_HEADERS_FILE",
    "OTEL_EXPORTER_OTLP_CERTIFICATE",
}


# Only these have a way to other machines; that of `transfer` is closed unless a setting opens it.
ways_out = {"outside": {"gateway", "prometheus", "grafana"}, "origins": {"transfer"}}


def fault(text):
    print(text)


def named(entry):
    """Returns the secrets or volumes that a service names."""
    return {item if isinstance(item, str) else item["source"] for item in entry or []}


builders = [name for name, service in services.items() if "build" in service]
if builders != ["migrate"]:
    fault(f"the image is built by {builders}; the next `up` recreates the containers of all but one")
for name, service in services.items():
    if service.get("image") == "dormouse:local" and "build" not in service and service.get("pull_policy") != "never":
        fault(f"{name}: pulls an image that no registry has")
    for secret, allowed in owners.items():
        if secret in named(service.get("secrets")) and name not in allowed:
            fault(f"{name}: has the secret {secret}")
    if "ports" in service and "database-owner" in named(service.get("secrets")):
        fault(f"{name}: has a port and the owner's password")
    tag = service.get("image", "")
    if tag != "dormouse:local" and not re.search(r":v?\d+\.\d+(\.\d+)?(-[a-z0-9]+)?$", tag):
        fault(f"{name}: the image {tag!r} has no pinned version")
    for network in set(service["networks"]) - {"inside"}:
        if name not in ways_out.get(network, ()):
            fault(f"{name}: is in the network {network}")
    user = str(service.get("user", "root")).split(":")[0]
    if user in ("root", "0"):
        fault(f"{name}: runs as root")
    if name != "push" and "apns" in {volume.split(":")[0] for volume in service.get("volumes", [])}:
        if user == str(services["push"]["user"]).split(":")[0]:
            fault(f"{name}: can read the keys of the development authority")
    if not service.get("read_only"):
        fault(f"{name}: its root file system is writable")
    if service.get("cap_drop") != ["ALL"] or "no-new-privileges:true" not in service.get("security_opt", []):
        fault(f"{name}: does not drop capabilities, or may gain privileges")
    if "memory" not in service.get("deploy", {}).get("resources", {}).get("limits", {}):
        fault(f"{name}: has no memory limit")
    if name not in passing | portless and "healthcheck" not in service:
        fault(f"{name}: has no health check")
    if name not in passing and service.get("restart") != "unless-stopped":
        fault(f"{name}: does not restart")
    for secret in named(service.get("secrets")) - set(compose["secrets"]):
        fault(f"{name}: the secret {secret} is not defined")
    for port in service.get("ports", []):
        if not str(port).startswith("${BIND_ADDRESS:-127.0.0.1}:"):
            fault(f"{name}: the port {port} is published to all addresses")
    for other, condition in service.get("depends_on", {}).items():
        wanted = "service_completed_successfully" if other == "migrate" else "service_healthy"
        if other not in services or condition.get("condition") != wanted:
            fault(f"{name}: does not wait until {other} is {wanted}")
    for variable, value in service.get("environment", {}).items():
        if re.search(r"PASSWORD|SECRET|KEY", variable) and not re.search(r"_FILE$", variable):
            fault(f"{name}: {variable} is not a file")
        path = re.fullmatch(r"/run/secrets/(.+)", str(value))
        if path and path[1] not in named(service.get("secrets")):
            fault(f"{name}: {variable} names a secret that the service does not get")

if compose["networks"]["inside"] != {"internal": True} or compose["networks"]["origins"] != {
        "internal": "${EGRESS_INTERNAL:-true}"}:
    fault("networks: the services reach other machines")
if services["postgres"]["environment"].get("POSTGRES_USER") != "postgres":
    fault("postgres: the owner of the database is a superuser")
migration = set(services["migrate"]["environment"]) | assigned(services["migrate"]["command"])
for variable in migration - settings.all:
    fault(f"migrate: {variable} is not a setting")
of_the_image = set(re.findall(r"\b([A-Z_]+)=", re.search(r"^ENV (.*)$", image, re.M)[1])) - {"PATH"}
for variable in of_the_image - settings.all:
    fault(f"the image: {variable} is not a setting")
for variable in (assigned([up]) | set(re.findall(r"\$\{([A-Z_]+):-", up))) - {"BASH_SOURCE"} - settings.all:
    fault(f"deploy/up: {variable} is not a setting")
for variable in of_ones_own - settings.all:
    fault(f"this check: {variable} is not a setting")
for name in ours:
    service, known = services[name], settings.known[name]
    given = set(service.get("environment", {}))
    scripted = assigned(service.get("command"))
    for variable in (given | scripted) - known:
        fault(f"{name}: {variable} is not one of its settings")
    # And each setting is in the file.
    for variable in known - given - scripted - migration - of_the_image - of_ones_own:
        fault(f"{name}: {variable} can't be set")
    for variable in {"DATABASE_URL", "DATABASE_PASSWORD_FILE", "OPERATOR_KEY_FILE", "PARTITIONS", "PORT"} - given:
        fault(f"{name}: {variable} is not set")
    # Each path must be in a volume or be a secret.
    for variable in given:
        value = str(service["environment"][variable])
        targets = {volume.split(":")[1] for volume in service.get("volumes", [])}
        if value.startswith("/") and not value.startswith("/run/secrets/") and value not in targets:
            fault(f"{name}: {variable} is {value}, which is not in a volume")
    for other in ("postgres", "migrate"):
        if other not in service.get("depends_on", {}):
            fault(f"{name}: does not wait for {other}")
for kind in ("volumes", "secrets"):
    used = set()
    for service in services.values():
        for item in service.get(kind, []):
            source = item if isinstance(item, str) else item["source"]
            used.add(source.split(":")[0])
    for name in set(compose[kind]) - used:
        fault(f"{kind}: no service uses {name}")
