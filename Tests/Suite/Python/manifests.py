"""Checks deploy/kubernetes beyond its schemas. Prints one line per fault, and nothing without faults.

Usage: manifests.py KUBERNETES_FOLDER COMPOSE_FILE METRICS_TABLE HELP_FOLDER - the table is in Markdown, the last folder
has what `SERVICE --help` prints, in SERVICE.txt
"""
import collections
import copy
import pathlib
import re
import sys

import yaml
from schemas import problem
from suite import Settings, assigned, default, ours

folder = pathlib.Path(sys.argv[1])
compose = yaml.safe_load(pathlib.Path(sys.argv[2]).read_text())
metrics = set(re.findall(r"^\| `(\w+)` \|", pathlib.Path(sys.argv[3]).read_text(), re.M))
settings = Settings(sys.argv[4])


def fault(text):
    print(text)


kustomization = yaml.safe_load((folder / "kustomization.yaml").read_text())
listed = kustomization["resources"]
there = {path.name for path in folder.iterdir() if path.is_file()} - {"kustomization.yaml"}
for name in set(listed) ^ there:
    fault(f"kustomization.yaml: {name} is " + ("listed but missing" if name in listed else "not listed"))
common = dict(line.split("=", 1) for item in kustomization["configMapGenerator"] for line in item["literals"])
generated = {item["name"] for item in kustomization["configMapGenerator"]}

documents = [
    document for name in listed if name in there
    for document in yaml.safe_load_all((folder / name).read_text())
]
of = collections.defaultdict(dict)
for document in documents:
    kind, name = document["kind"], document["metadata"]["name"]
    if found := problem(document):
        fault(f"{kind} {name}: {found}")
    if name in of[kind]:
        fault(f"{kind} {name}: exists twice")
    of[kind][name] = document

# The example of an overlay.
overlay = yaml.safe_load((folder / "examples/kustomization.yaml").read_text())
# The example is for a copy of its folder beside the base: kustomize refuses a base above its overlay.
if overlay["resources"][0] != "../kubernetes":
    fault("the example does not begin with the base")
for name in {path.name for path in (folder / "examples").iterdir()} ^ {"kustomization.yaml", *overlay["resources"][1:]}:
    fault(f"examples/{name}: is listed but missing, or not listed")
example = collections.defaultdict(list)
for name in overlay["resources"][1:]:
    for document in yaml.safe_load_all((folder / "examples" / name).read_text()):
        example[document["kind"]].append(document)
        if document["kind"] in ("ServiceMonitor", "PrometheusRule"):
            # Their schemas are those of an operator.
            continue
        if found := problem(document):
            fault(f"examples/{name}: {found}")
for item in overlay["configMapGenerator"]:
    if item["name"] not in generated or item["behavior"] != "merge":
        fault(f"examples/kustomization.yaml: no config map {item['name']} to merge with")
    for line in item["literals"]:
        if line.split("=")[0] not in settings.all:
            fault(f"examples/kustomization.yaml: {line} is not a setting")
for patch in overlay["patches"]:
    names = patch["target"].get("name", ".*")
    found = {name: document for name, document in of[patch["target"]["kind"]].items() if re.fullmatch(names, name)}
    if not found:
        fault(f"examples/kustomization.yaml: no document for the patch of {patch['target']}")
    for step in yaml.safe_load(patch["patch"]):
        for document in found.values():
            place = document
            for part in step["path"].split("/")[1:-1]:
                place = place.get(part, {})
            if step["op"] != "add" and step["path"].split("/")[-1] not in place:
                fault(f"examples/kustomization.yaml: {step['path']} is not in {document['metadata']['name']}")


def pods(document):
    return document["spec"]["template"]


running = {**of["Deployment"], **of["Job"]}
# kustomization.yaml adds its labels for templates to every pod.
shared = {}
for item in kustomization["labels"]:
    if item.get("includeTemplates"):
        shared |= item["pairs"]
labels = {name: {**pods(document)["metadata"]["labels"], **shared} for name, document in running.items()}
# The overlay adds the database.
labels["postgres"] = {"app.kubernetes.io/name": "postgres"}
ports = {
    name: {port["name"]: port["containerPort"] for port in pods(document)["spec"]["containers"][0].get("ports", [])}
    for name, document in running.items()
}


def chosen(selector):
    """Returns the pods that a selector matches."""
    def fits(given):
        return all(given.get(key) == value for key, value in selector.get("matchLabels", {}).items()) and all(
            rule["operator"] == "In" and given.get(rule["key"]) in rule["values"]
            for rule in selector.get("matchExpressions", []))
    return {name for name, given in labels.items() if fits(given)}


for name, document in running.items():
    spec = pods(document)["spec"]
    container = spec["containers"][0]
    given = {item["name"]: item["value"] for item in container.get("env", [])}
    known = settings.all if name == "migrate" else settings.known[{"maintain": "ops"}.get(name, name)]
    scripted = assigned(container["command"])
    # libpq reads these two: connections to the database are encrypted, and the server is who it claims to be.
    secured = {"PGSSLMODE": "verify-full", "PGSSLROOTCERT": "/run/secrets/database-authority"}
    if {key: common.get(key) for key in secured} != secured:
        fault(f"{name}: does not verify the certificate of the database")
    for variable in (set(given) | set(common) | scripted) - known - set(secured):
        fault(f"{name}: {variable} is not one of its settings")
    if container["image"] != compose["services"][name]["image"]:
        fault(f"{name}: its image differs from docker-compose.yml")
    if any(source["configMapRef"]["name"] not in generated for source in container["envFrom"]):
        fault(f"{name}: its config map is not defined")
    pod, inner = spec.get("securityContext", {}), container.get("securityContext", {})
    user = f'{pod.get("runAsUser")}:{pod.get("runAsGroup")}'
    if not pod.get("runAsNonRoot") or user != compose["services"][name]["user"]:
        fault(f"{name}: its user differs from docker-compose.yml")
    confined = pod.get("seccompProfile", {}).get("type") == "RuntimeDefault"
    if not confined or inner.get("allowPrivilegeEscalation") is not False:
        fault(f"{name}: has no seccomp profile or allows privilege escalation")
    if not inner.get("readOnlyRootFilesystem"):
        fault(f"{name}: its root file system is writable")
    if inner.get("capabilities", {}).get("drop") != ["ALL"]:
        fault(f"{name}: does not drop capabilities")
    # A Service named apns would set a variable APNS_PORT with a URL.
    if spec.get("automountServiceAccountToken") is not False or spec.get("enableServiceLinks") is not False:
        fault(f"{name}: gets a token or service variables of the cluster")
    limits = container.get("resources", {}).get("limits", {})
    inside = compose["services"][name]["deploy"]["resources"]["limits"]
    if limits.get("memory") != inside["memory"].replace("m", "Mi") or limits.get("cpu") != inside["cpus"]:
        fault(f"{name}: its limits differ from docker-compose.yml")
    if not {"cpu", "memory"} <= set(container["resources"].get("requests", {})):
        fault(f"{name}: requests no resources")

    # The mounts, and the settings with paths in them.
    volumes = {volume["name"]: volume for volume in spec.get("volumes", [])}
    mounts = {mount["mountPath"]: mount["name"] for mount in container["volumeMounts"]}
    for path in set(mounts.values()) ^ set(volumes):
        fault(f"{name}: {path} is only one of a mount and a volume")
    for volume in volumes.values():
        claim = volume.get("persistentVolumeClaim", {}).get("claimName")
        if claim and claim not in of["PersistentVolumeClaim"]:
            fault(f"{name}: the claim {claim} does not exist")
    secrets = {item["path"] for item in volumes["secrets"]["secret"]["items"]}
    # The database of docker-compose.yml is on a private network and has no certificate.
    if secrets != set(compose["services"][name]["secrets"]) | {"database-authority"}:
        fault(f"{name}: its secrets differ from docker-compose.yml")
    paths = {variable: value for variable, value in {**common, **given}.items() if value.startswith("/")}
    for variable, value in paths.items():
        secret = re.fullmatch(r"/run/secrets/(.+)", value)
        places = {value, value.rpartition("/")[0]}
        is_mounted = secret[1] in secrets if secret else places & mounts.keys()
        if name not in ("migrate", "maintain") and not is_mounted:
            fault(f"{name}: {variable} is {value}, which is not mounted")

    # The values are those of docker-compose.yml, except for the name of the gateway and TLS to the database. The
    # certificate of the provider endpoint is a secret here, and no development authority makes one.
    own_certificate = {"APNS_TLS_CERTIFICATE", "APNS_TLS_KEY"} if name == "push" else set()
    composed = {key: default(value) for key, value in compose["services"][name].get("environment", {}).items()}
    # An ingress sends no PROXY header, so all clients have its address.
    composed |= {"CONNECTIONS_PER_ADDRESS": "0", "FAILED_CREDENTIALS_PER_SECOND": "0"}
    for variable, value in {**common, **given}.items():
        if variable in {*own_certificate, *secured} or name in ("migrate", "maintain") and variable not in composed:
            continue
        if value != composed.get(variable, "").replace("//gateway:", f"//{name}:"):
            fault(f"{name}: {variable} is {value}, and {composed.get(variable)} in docker-compose.yml")
    if not own_certificate <= given.keys():
        fault(f"{name}: has no certificate for providers")
    command = [word.replace("$$", "$") for word in compose["services"][name]["command"]]
    if container["command"] != command:
        fault(f"{name}: its command differs from docker-compose.yml")

def waits_for_schema(name, spec):
    """Whether an init container with the same settings and restrictions checks the schema first."""
    container, (first, *_) = spec["containers"][0], spec.get("initContainers", [{}])
    given = {item["name"]: item["value"] for item in container["env"]}
    wanted = {key: given[key] for key in ["DATABASE_URL", "DATABASE_PASSWORD_FILE"]}
    same = ["image", "envFrom", "securityContext"]
    return (
        f"until {name} check;" in " ".join(first.get("command", []))
        and {item["name"]: item["value"] for item in first.get("env", [])} == wanted
        and all(first.get(key) == container[key] for key in same)
        and first["volumeMounts"][0] == next(item for item in container["volumeMounts"] if item["name"] == "secrets"))


for name in ours:
    document = of["Deployment"].get(name)
    if document is None:
        fault(f"{name}: has no deployment")
        continue
    container, own = pods(document)["spec"]["containers"][0], ports[name]
    if not waits_for_schema(name, pods(document)["spec"]):
        fault(f"{name}: does not wait for its schema")
    given = {item["name"]: item["value"] for item in container["env"]}
    if str(own.get("http")) != given["PORT"] or str(own.get("apns")) != given.get("APNS_PORT", "None"):
        fault(f"{name}: its ports differ from those that it listens on")
    for probe, path in [("startupProbe", "/healthz"), ("livenessProbe", "/healthz"), ("readinessProbe", "/readyz")]:
        get = container.get(probe, {}).get("httpGet", {})
        if get.get("path") != path or get.get("port") not in own:
            fault(f"{name}: its {probe} does not request {path} at one of its ports")
    if pods(document)["metadata"]["annotations"].get("prometheus.io/port") != given["PORT"]:
        fault(f"{name}: Prometheus scrapes another port")
    if chosen(document["spec"]["selector"]) != {name}:
        fault(f"{name}: the selector of the deployment matches {chosen(document['spec']['selector'])}")
    service = of["Service"].get(name, {"spec": {"selector": {}, "ports": []}})["spec"]
    if chosen({"matchLabels": service["selector"]}) != {name}:
        fault(f"{name}: the selector of the service does not match it")
    if {port["name"]: port["port"] for port in service["ports"]} != own:
        fault(f"{name}: the ports of the service differ from those of the pod")
    if any(port["targetPort"] not in own for port in service["ports"]):
        fault(f"{name}: the service targets no port of the pod")
    budget = of["PodDisruptionBudget"].get(name)
    if budget is None or chosen(budget["spec"]["selector"]) != {name}:
        fault(f"{name}: has no disruption budget")
    scaler = of["HorizontalPodAutoscaler"].get(name)
    if name == "ops":
        continue
    if scaler is None or scaler["spec"]["scaleTargetRef"]["name"] != name:
        fault(f"{name}: has no autoscaler")
        continue
    if "replicas" in document["spec"]:
        fault(f"{name}: applying it again resets its replicas")
    if scaler["spec"]["maxReplicas"] > int(common["PARTITIONS"]):
        fault(f"{name}: has more replicas than partitions")
    # Without an adapter, an external metric can't be read. The autoscaler then never scales down.
    if [item["type"] for item in scaler["spec"]["metrics"]] != ["Resource"]:
        fault(f"{name}: its autoscaler needs more than the metrics server")

# The example reaches each service, and scrapes each.
reached = {
    (path["backend"]["service"]["name"], path["backend"]["service"]["port"]["name"])
    for ingress in example["Ingress"] for rule in ingress["spec"]["rules"] for path in rule["http"]["paths"]}
hosts = {host for ingress in example["Ingress"] for item in ingress["spec"]["tls"] for host in item["hosts"]}
if reached != {(name, "http") for name in ours}:
    fault(f"examples/ingress.yaml: leads to {sorted(reached)}")
if hosts != {rule["host"] for ingress in example["Ingress"] for rule in ingress["spec"]["rules"]}:
    fault("examples/ingress.yaml: some hosts have no certificate")
ways_out = collections.defaultdict(set)
for policy in example["NetworkPolicy"]:
    spec = policy["spec"]
    mine = chosen(spec["podSelector"])
    if not mine:
        fault(f"examples: the network policy {policy['metadata']['name']} matches no pod")
    for rule in spec.get("egress", []):
        for peer in rule["to"]:
            namespace = peer["namespaceSelector"]["matchLabels"]["kubernetes.io/metadata.name"]
            for port in rule["ports"]:
                ways_out[namespace, port["port"]] |= mine
# All pods need the database, and all services the collector of traces.
needed_ways = {}
literals = dict(line.split("=", 1) for item in overlay["configMapGenerator"] for line in item["literals"])
for service in example["Service"]:
    if service["spec"]["type"] == "ExternalName" and service["metadata"]["name"] == "postgres":
        needed_ways[service["spec"]["externalName"].split(".")[1], 5432] = set(running)
collector = re.fullmatch(r"http://[\w-]+\.([\w-]+):(\d+)", literals.get("OTEL_EXPORTER_OTLP_ENDPOINT", ""))
if collector:
    needed_ways[collector[1], int(collector[2])] = set(ours)
if ways_out != needed_ways or len(needed_ways) != 2:
    fault(f"examples: the network policies open {dict(ways_out)}, and the example needs {needed_ways}")
for service in example["Service"]:
    if service["spec"]["type"] == "ExternalName":
        continue
    if chosen({"matchLabels": service["spec"]["selector"]}) != {"push"}:
        fault("examples/providers.yaml: the service does not lead to push")
    if any(port["targetPort"] not in ports["push"] for port in service["spec"]["ports"]):
        fault("examples/providers.yaml: the service leads to no port of push")
for monitor in example["ServiceMonitor"]:
    wanted = monitor["spec"]["selector"]["matchLabels"]
    for name in ours:
        given = {**of["Service"][name]["metadata"].get("labels", {}), **shared}
        if any(given.get(key) != value for key, value in wanted.items()):
            fault(f"examples/servicemonitor.yaml: does not scrape {name}")
        if given.get(monitor["spec"]["jobLabel"]) != name:
            fault(f"examples/servicemonitor.yaml: the alerts do not know {name}")
        if any(item["port"] not in ports[name] or item["path"] != "/metrics" for item in monitor["spec"]["endpoints"]):
            fault(f"examples/servicemonitor.yaml: {name} has no metrics there")
if not example["ServiceMonitor"]:
    fault("examples: there is no ServiceMonitor")
rules = yaml.safe_load((pathlib.Path(sys.argv[2]).parent / "deploy/prometheus/rules.yml").read_text())
if [document["spec"] for document in example["PrometheusRule"]] != [rules]:
    fault("examples/prometheusrule.yaml: differs from deploy/prometheus/rules.yml; run deploy/lib/prometheusrule.py")

# The component for HTTPS, applied to each deployment.
component = yaml.safe_load((folder / "tls/kustomization.yaml").read_text())
served = dict(line.split("=", 1) for item in component["configMapGenerator"] for line in item["literals"])
for variable in set(served) - settings.all:
    fault(f"tls: {variable} is not a setting")


def add(document, path, value):
    """Adds a value as an operation `add` of a JSON patch does (RFC 6902), where its parent exists."""
    *parents, last = path.split("/")[1:]
    for part in parents:
        document = document[int(part)] if isinstance(document, list) else document[part]
    if last == "-":
        document.append(value)
    else:
        document[last.replace("~1", "/").replace("~0", "~")] = value


# The component for autoscalers, applied to each of them.
for name in set(ours) - {"ops"}:
    document = copy.deepcopy(of["HorizontalPodAutoscaler"].get(name, {}))
    for item in yaml.safe_load((folder / "lag/kustomization.yaml").read_text())["patches"]:
        if item["target"] != {"kind": "HorizontalPodAutoscaler", "name": name}:
            continue
        try:
            for step in yaml.safe_load(item["patch"]):
                add(document, step["path"], step["value"])
        except (KeyError, IndexError, TypeError) as error:
            fault(f"lag: a patch does not fit {name}: {error!r}")
    if found := problem(document):
        fault(f"lag: {name}: {found}")
        continue
    given = document["spec"]["metrics"]
    lag = [item["external"]["metric"] for item in given if item["type"] == "External" and "external" in item]
    if [item["name"] for item in lag] != ["dormouse_consumer_lag"] or not metrics >= {item["name"] for item in lag}:
        fault(f"lag: {name} does not scale by a metric that the table has")
    if any(item["selector"]["matchLabels"] != {"consumer": name} for item in lag):
        fault(f"lag: {name} scales by the lag of another service")

for name in ours:
    document = copy.deepcopy(of["Deployment"][name])
    container = pods(document)["spec"]["containers"][0]
    for item in component["patches"]:
        if not re.fullmatch(item["target"]["name"], name):
            continue
        patch = yaml.safe_load(item["patch"])
        try:
            if isinstance(patch, list):
                for step in patch:
                    add(document, step["path"], step["value"])
            else:
                more = pods(patch)["spec"]["containers"][0]
                given = {entry["name"]: entry for entry in container["env"] + more["env"]}
                container["env"] = list(given.values())
                if more["name"] != container["name"]:
                    fault(f"tls: {more['name']} is not the container of {name}")
        except (KeyError, IndexError, TypeError) as error:
            fault(f"tls: a patch does not fit {name}: {error!r}")
    if found := problem(document):
        fault(f"tls: {name}: {found}")
    for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
        if container[probe]["httpGet"].get("scheme") != "HTTPS":
            fault(f"tls: the {probe} of {name} uses HTTP")
    annotations = pods(document)["metadata"]["annotations"]
    if annotations.get("prometheus.io/scrape") == "true" and annotations.get("prometheus.io/scheme") != "https":
        fault(f"tls: Prometheus scrapes {name} by HTTP")
    mounted = {mount["mountPath"] for mount in container["volumeMounts"]}
    volumes = {volume["name"] for volume in pods(document)["spec"]["volumes"]}
    if any(mount["name"] not in volumes for mount in container["volumeMounts"]):
        fault(f"tls: {name} mounts no volume")
    values = {entry["name"]: entry["value"] for entry in container["env"]}
    for variable, value in {**served, **values}.items():
        if variable not in settings.known[name] and variable not in served:
            fault(f"tls: {variable} is not a setting of {name}")
        if value.startswith("/run/tls/") and "/run/tls" not in mounted:
            fault(f"tls: {name}: {value} is not mounted")
        if re.match(r"http://(lifecycle|fetch|push|transfer|ops):", value):
            fault(f"tls: {name}: {variable} is {value}")

# The allowed connections (from, to, port), by the policies of both sides.
asked, granted = set(), set()
policies = of["NetworkPolicy"]
closed = [item["spec"] for item in policies.values() if not item["spec"]["podSelector"]]
if not any(set(item["policyTypes"]) == {"Ingress", "Egress"} and "ingress" not in item for item in closed):
    fault("network policies: nothing is denied")
for name, policy in policies.items():
    spec = policy["spec"]
    mine = chosen(spec["podSelector"])
    if not mine:
        fault(f"network policy {name}: matches no pod")
    for way, side, pairs in [("ingress", "from", granted), ("egress", "to", asked)]:
        if way in spec and way.capitalize() not in spec["policyTypes"]:
            fault(f"network policy {name}: its {way} has no effect")
        for rule in spec.get(way, []):
            for peer in rule[side]:
                is_outside = "namespaceSelector" in peer or peer.get("ipBlock", {}).get("cidr", "").startswith("169.254.")
                others = {"outside"} if is_outside else chosen(peer.get("podSelector", {}))
                if not others:
                    fault(f"network policy {name}: {peer} matches no pod")
                for port in rule["ports"]:
                    for one in mine:
                        for other in others:
                            target = one if way == "ingress" else other
                            number = ports.get(target, {}).get(port["port"], port["port"])
                            if not isinstance(number, int):
                                fault(f"network policy {name}: {target} has no port {number}")
                            pairs.add((other, one, number) if way == "ingress" else (one, other, number))
for pair in {pair for pair in asked ^ granted if "outside" not in pair}:
    fault(f"network policies: only one side allows {pair}")
needed = {(name, "postgres", 5432) for name in running}
for address in [item["value"] for item in pods(of["Deployment"]["ops"])["spec"]["containers"][0]["env"]]:
    found = re.fullmatch(r"http://(\w+):(\d+)", address)
    if found:
        needed.add(("ops", found[1], int(found[2])))
needed |= {("outside", name, port) for name in ours for port in ports[name].values()}
for pair in needed - granted:
    fault(f"network policies: {pair} is needed but not allowed")
