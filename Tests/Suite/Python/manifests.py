"""What must hold of deploy/kubernetes beyond its schemas. Each fault is a line; none is silence.

Usage: manifests.py KUBERNETES_FOLDER COMPOSE_FILE METRICS_TABLE HELP_FOLDER - the table is in Markdown, the last folder
has what `SERVICE --help` prints, in SERVICE.txt
"""
import collections
import pathlib
import re
import sys

import kubernetes_validate
import yaml
from suite import Settings, assigned, default, ours

folder = pathlib.Path(sys.argv[1])
compose = yaml.safe_load(pathlib.Path(sys.argv[2]).read_text())
metrics = set(re.findall(r"^\| `(\w+)` \|", pathlib.Path(sys.argv[3]).read_text(), re.M))
settings = Settings(sys.argv[4])


def fault(text):
    print(text)


kustomization = yaml.safe_load((folder / "kustomization.yaml").read_text())
listed = kustomization["resources"]
there = {path.name for path in folder.iterdir()} - {"kustomization.yaml"}
for name in set(listed) ^ there:
    fault(f"kustomization.yaml: {name} is " + ("listed and not there" if name in listed else "there and not listed"))
common = dict(line.split("=", 1) for item in kustomization["configMapGenerator"] for line in item["literals"])
generated = {item["name"] for item in kustomization["configMapGenerator"]}

documents = [
    document for name in listed if name in there
    for document in yaml.safe_load_all((folder / name).read_text())
]
of = collections.defaultdict(dict)
for document in documents:
    kind, name = document["kind"], document["metadata"]["name"]
    try:
        kubernetes_validate.validate(document, "1.33", strict=True)
    except kubernetes_validate.ValidationError as error:
        fault(f"{kind} {name}: {error.message}")
    except kubernetes_validate.SchemaNotFoundError as error:
        fault(f"{kind} {name}: {error.message}")
    if name in of[kind]:
        fault(f"{kind} {name}: is there twice")
    of[kind][name] = document


def pods(document):
    return document["spec"]["template"]


running = {**of["Deployment"], **of["Job"]}
# kustomization.yaml gives every pod the labels that it has for templates.
shared = {}
for item in kustomization["labels"]:
    if item.get("includeTemplates"):
        shared |= item["pairs"]
labels = {name: {**pods(document)["metadata"]["labels"], **shared} for name, document in running.items()}
# The database is the overlay's.
labels["postgres"] = {"app.kubernetes.io/name": "postgres"}
ports = {
    name: {port["name"]: port["containerPort"] for port in pods(document)["spec"]["containers"][0].get("ports", [])}
    for name, document in running.items()
}


def chosen(selector):
    """The pods that a selector means."""
    def fits(given):
        return all(given.get(key) == value for key, value in selector.get("matchLabels", {}).items()) and all(
            rule["operator"] == "In" and given.get(rule["key"]) in rule["values"]
            for rule in selector.get("matchExpressions", []))
    return {name for name, given in labels.items() if fits(given)}


for name, document in running.items():
    spec = pods(document)["spec"]
    container = spec["containers"][0]
    given = {item["name"]: item["value"] for item in container.get("env", [])}
    known = settings.all if name == "migrate" else settings.known[name]
    scripted = assigned(container["command"])
    for variable in (set(given) | set(common) | scripted) - known:
        fault(f"{name}: {variable} is no setting of it")
    if container["image"] != compose["services"][name]["image"]:
        fault(f"{name}: its image is not that of docker-compose.yml")
    if any(source["configMapRef"]["name"] not in generated for source in container["envFrom"]):
        fault(f"{name}: its settings are nowhere")
    pod, inner = spec.get("securityContext", {}), container.get("securityContext", {})
    user = f'{pod.get("runAsUser")}:{pod.get("runAsGroup")}'
    if not pod.get("runAsNonRoot") or user != compose["services"][name]["user"]:
        fault(f"{name}: runs as another user than in docker-compose.yml")
    confined = pod.get("seccompProfile", {}).get("type") == "RuntimeDefault"
    if not confined or inner.get("allowPrivilegeEscalation") is not False:
        fault(f"{name}: is not confined")
    if not inner.get("readOnlyRootFilesystem"):
        fault(f"{name}: its root can be written to")
    if inner.get("capabilities", {}).get("drop") != ["ALL"]:
        fault(f"{name}: keeps capabilities")
    # A Service named apns would make a variable APNS_PORT, with a URL in it.
    if spec.get("automountServiceAccountToken") is not False or spec.get("enableServiceLinks") is not False:
        fault(f"{name}: is told more of the cluster than it needs")
    limits = container.get("resources", {}).get("limits", {})
    inside = compose["services"][name]["deploy"]["resources"]["limits"]
    if limits.get("memory") != inside["memory"].replace("m", "Mi") or limits.get("cpu") != inside["cpus"]:
        fault(f"{name}: its limits are not those of docker-compose.yml")
    if not {"cpu", "memory"} <= set(container["resources"].get("requests", {})):
        fault(f"{name}: asks for no resources")

    # What is mounted, and what is looked for there.
    volumes = {volume["name"]: volume for volume in spec.get("volumes", [])}
    mounts = {mount["mountPath"]: mount["name"] for mount in container["volumeMounts"]}
    for path in set(mounts.values()) ^ set(volumes):
        fault(f"{name}: {path} is mounted or is a volume, and not both")
    for volume in volumes.values():
        claim = volume.get("persistentVolumeClaim", {}).get("claimName")
        if claim and claim not in of["PersistentVolumeClaim"]:
            fault(f"{name}: nobody claims {claim}")
    secrets = {item["path"] for item in volumes["secrets"]["secret"]["items"]}
    if secrets != set(compose["services"][name]["secrets"]):
        fault(f"{name}: its secrets are not those of docker-compose.yml")
    paths = {variable: value for variable, value in {**common, **given}.items() if value.startswith("/")}
    for variable, value in paths.items():
        secret = re.fullmatch(r"/run/secrets/(.+)", value)
        if name != "migrate" and (secret[1] not in secrets if secret else value not in mounts):
            fault(f"{name}: {variable} is {value}, where nothing is")

    # The same as in docker-compose.yml; only the door has another name there.
    composed = {key: default(value) for key, value in compose["services"][name].get("environment", {}).items()}
    for variable, value in {**common, **given}.items():
        if name == "migrate" and variable not in composed:
            continue
        if value != composed.get(variable, "").replace("//gateway:", f"//{name}:"):
            fault(f"{name}: {variable} is {value}, and {composed.get(variable)} in docker-compose.yml")
    command = [word.replace("$$", "$") for word in compose["services"][name]["command"]]
    if container["command"] != command:
        fault(f"{name}: its command is not that of docker-compose.yml")

def waits_for_schema(name, spec):
    """Whether the pod compares the schema before the service starts, as the service is set and confined."""
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
        fault(f"{name}: its ports are not those that it listens on")
    for probe, path in [("startupProbe", "/healthz"), ("livenessProbe", "/healthz"), ("readinessProbe", "/readyz")]:
        get = container.get(probe, {}).get("httpGet", {})
        if get.get("path") != path or get.get("port") not in own:
            fault(f"{name}: its {probe} does not ask {path} at a port of its own")
    if pods(document)["metadata"]["annotations"].get("prometheus.io/port") != given["PORT"]:
        fault(f"{name}: Prometheus looks at another port")
    if chosen(document["spec"]["selector"]) != {name}:
        fault(f"{name}: the deployment's selector means {chosen(document['spec']['selector'])}")
    service = of["Service"].get(name, {"spec": {"selector": {}, "ports": []}})["spec"]
    if chosen({"matchLabels": service["selector"]}) != {name}:
        fault(f"{name}: the service's selector does not mean it")
    if {port["name"]: port["port"] for port in service["ports"]} != own:
        fault(f"{name}: the service's ports are not the pod's")
    if any(port["targetPort"] not in own for port in service["ports"]):
        fault(f"{name}: the service leads to no port of the pod")
    budget = of["PodDisruptionBudget"].get(name)
    if budget is None or chosen(budget["spec"]["selector"]) != {name}:
        fault(f"{name}: has no disruption budget")
    scaler = of["HorizontalPodAutoscaler"].get(name)
    if name == "ops":
        continue
    if scaler is None or scaler["spec"]["scaleTargetRef"]["name"] != name:
        fault(f"{name}: does not scale")
        continue
    if "replicas" in document["spec"]:
        fault(f"{name}: applying it again undoes what was scaled")
    if scaler["spec"]["maxReplicas"] > int(common["PARTITIONS"]):
        fault(f"{name}: has more replicas than partitions")
    lag = [item["external"]["metric"] for item in scaler["spec"]["metrics"] if item["type"] == "External"]
    if [item["name"] for item in lag] != ["dormouse_consumer_lag"] or not metrics >= {item["name"] for item in lag}:
        fault(f"{name}: scales by no metric of the table")
    if any(item["selector"]["matchLabels"] != {"consumer": name} for item in lag):
        fault(f"{name}: scales by another's lag")

# Who may speak to whom: (from, to, port), as the policies of both sides say.
asked, granted = set(), set()
policies = of["NetworkPolicy"]
closed = [item["spec"] for item in policies.values() if not item["spec"]["podSelector"]]
if not any(set(item["policyTypes"]) == {"Ingress", "Egress"} and "ingress" not in item for item in closed):
    fault("network policies: nothing is denied")
for name, policy in policies.items():
    spec = policy["spec"]
    mine = chosen(spec["podSelector"])
    if not mine:
        fault(f"network policy {name}: is about nobody")
    for way, side, pairs in [("ingress", "from", granted), ("egress", "to", asked)]:
        if way in spec and way.capitalize() not in spec["policyTypes"]:
            fault(f"network policy {name}: its {way} does not count")
        for rule in spec.get(way, []):
            for peer in rule[side]:
                others = chosen(peer.get("podSelector", {})) if "namespaceSelector" not in peer else {"outside"}
                if not others:
                    fault(f"network policy {name}: nobody is meant by {peer}")
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
    fault(f"network policies: {pair} is needed and not allowed")
