"""Tests the alerts with answers of services to scrapes, by promtool. Prints how the firing alerts differ from the named.

PROMETHEUS is a folder with prometheus.yml and rules.yml. SCRAPES/first and SCRAPES/second have the answers to two
scrapes: a file for each target, with the name of its job, and for another replica a dot and a number. An empty file is
a target that does not answer. A job without a file has no target.

The test repeats what has happened between the scrapes, for longer than each alert waits. In each scrape interval a
counter rises as between the two scrapes. All other values are those of the second scrape.

An alert has the form NAME{LABELS}, without its severity. An ignored alert may fire, and need not have all labels.
"""
import argparse
import json
import pathlib
import re
import subprocess
import sys
import tempfile

from scrapes import Scrape

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("prometheus", type=pathlib.Path)
parser.add_argument("scrapes", type=pathlib.Path)
parser.add_argument("alerts", nargs="*")
parser.add_argument("--ignore", action="append", default=[])
options = parser.parse_args()
rules = options.prometheus.resolve() / "rules.yml"
settings = (rules.parent / "prometheus.yml").read_text()
ports = dict(re.findall(r"job_name: (\w+)\n(?:.*\n)*?\s+port: (\d+)", settings))
interval = int(re.search(r"scrape_interval: (\d+)s", settings)[1])
known = set(re.findall(r"alert: (\w+)", rules.read_text()))
# The rates of the rules look back 5 minutes.
minutes = max(int(wait) for wait in re.findall(r"for: (\d+)m", rules.read_text())) + 10
count = minutes * 60 // interval


def selector(alert):
    """Returns the labels of an alert as a selector of PromQL."""
    name, text = re.fullmatch(r"(\w+)(?:\{(.*)\})?", alert).groups()
    if name not in known:
        sys.exit(f"{rules.name} has no alert {name}")
    return "{" + ",".join(filter(None, [f'alertname="{name}"', text])) + "}"


def series(name, text, begin, step=0.0):
    """Returns a series of promtool that begins with a value and adds the step in each interval."""
    return {"series": f"{name}{{{text}}}", "values": f"{begin!r}{step:+}x{count}"}


def of_target(path):
    """Yields the series of a target."""
    job = path.name.split(".")[0]
    own = f'job="{job}",instance="{path.name}:{ports[job]}"'
    first, second = (Scrape(path.parents[1] / round / path.name) for round in ("first", "second"))
    yield series("up", own, float(bool(second.values)))
    for (name, text), value in second.values.items():
        # Time begins at 0 in the test.
        value -= second.at if name.endswith("_timestamp_seconds") else 0
        # A counter that appears between the scrapes began at 0.
        begin = first.values.get((name, text), 0.0) if second.is_counter(name) else value
        if value < begin:
            sys.exit(f"{name}{{{text}}} of {path.name} falls from {begin} to {value}")
        yield series(name, ",".join(filter(None, [text, own])), begin, value - begin)


firing = " unless ".join(['ALERTS{alertstate="firing"}', *(f"ALERTS{selector(alert)}" for alert in options.ignore)])
test = {
    "rule_files": [str(rules)],
    "evaluation_interval": "1m",
    "tests": [{
        "interval": f"{interval}s",
        "input_series": [line for path in sorted(options.scrapes.glob("second/*")) for line in of_target(path)],
        "promql_expr_test": [{
            "expr": f"sum without (alertstate, severity) ({firing})",
            "eval_time": f"{minutes}m",
            "exp_samples": [{"labels": selector(alert), "value": 1} for alert in options.alerts],
        }],
    }],
}
with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
    json.dump(test, file)
    file.flush()
    run = subprocess.run(["promtool", "test", "rules", file.name], capture_output=True, text=True)
if run.returncode:
    print((run.stdout + run.stderr).strip())
