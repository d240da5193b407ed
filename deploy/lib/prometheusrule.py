"""Prints the rules of Prometheus as a PrometheusRule, which the Prometheus Operator reads.

Usage: prometheusrule.py [RULES] >deploy/kubernetes/examples/prometheusrule.yaml
"""

from __future__ import annotations

import sys
from pathlib import Path

HEAD = """\
# The alerts and the recording rules of deploy/prometheus/rules.yml, for the Prometheus Operator. After a change there:
#
#   python3 deploy/lib/prometheusrule.py >deploy/kubernetes/examples/prometheusrule.yaml
apiVersion: monitoring.coreos.com/v1
kind: PrometheusRule
metadata:
  name: dormouse
spec:
"""


def document(rules: str) -> str:
    """Returns the manifest with the groups of a file of rules."""
    return HEAD + "".join(f"  {line}\n" if line else "\n" for line in rules.splitlines())


if __name__ == "__main__":
    file = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parents[1] / "prometheus/rules.yml"
    print(document(file.read_text()), end="")
