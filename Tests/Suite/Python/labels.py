"""Compares the metrics, labels and values in alerts and dashboards with answers of services to scrapes.

Usage: labels.py RULES DASHBOARDS SCRAPES... - prints each selector that selects nothing, and each label that no series has.
"""
import json
import pathlib
import re
import sys

from scrapes import Scrape, labels

rules, dashboards, *folders = sys.argv[1:]
found = {}
for path in sorted(path for folder in folders for path in pathlib.Path(folder).rglob("*") if path.is_file()):
    for name, text in Scrape(path).values:
        found.setdefault(name, []).append(labels(text))


def expressions(document):
    """Yields the expressions in the JSON of a dashboard."""
    if isinstance(document, dict):
        yield from (value for key, value in document.items() if key == "expr")
        document = list(document.values())
    if isinstance(document, list):
        for item in document:
            yield from expressions(item)


def grouped(text):
    """Yields the labels of each `by (…)`, and the expression that it groups."""
    for match in re.finditer(r"\bby \(([\w, ]+)\)\s*\(", text):
        depth, end = 1, match.end()
        while depth:
            depth += {"(": 1, ")": -1}.get(text[end], 0)
            end += 1
        yield match[1].split(", "), text[match.end():end - 1]


def matches(row, label, operator, value):
    """Returns whether a matcher concerns a series: whether it selects the series, or with `!` excludes it."""
    if label not in row:
        return False
    return re.fullmatch(value, row[label]) if "~" in operator else row[label] == value


texts = [pathlib.Path(rules).read_text()]
texts += [expression for path in pathlib.Path(dashboards).glob("*.json")
          for expression in expressions(json.loads(path.read_text()))]
faults = set()
for text in texts:
    for name, selector in re.findall(r"\b(dormouse_\w+)(?:\{([^}]*)\})?", text):
        if name not in found:
            faults.add(f"{name}: no service has it")
            continue
        for label, operator, value in re.findall(r'(\w+)\s*(=~|!~|!=|=)\s*"([^"]*)"', selector):
            if not any(matches(row, label, operator, value) for row in found[name]):
                faults.add(f"{name}: no series has {label}{operator}{value}")
    for names, inner in grouped(text):
        for name in set(re.findall(r"\bdormouse_\w+", inner)) & found.keys():
            # Prometheus adds the others.
            for label in set(names) - {"job", "instance"}:
                if not all(label in row for row in found[name]):
                    faults.add(f"{name}: a series has no label {label}")
for fault in sorted(faults):
    print(fault)
