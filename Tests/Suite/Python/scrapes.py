"""Reads answers of services to scrapes by Prometheus: the text format, version 0.0.4."""
import re


class Scrape:
    """One answer. `values` has the value of each sample, by the name of its series and the text of its labels."""

    def __init__(self, path):
        self.at = path.stat().st_mtime
        self.kinds, self.values = {}, {}
        for line in path.read_text().splitlines():
            if line.startswith("# TYPE "):
                _, _, name, kind = line.split(" ")
                self.kinds[name] = kind
            elif line and not line.startswith("#"):
                name, text, value = re.fullmatch(r"([a-z_]+)(?:\{(.*)\})? (\S+)", line).groups()
                self.values[name, text or ""] = float(value)

    def is_counter(self, name):
        """Returns whether a series only rises. Those of a histogram do."""
        return self.kinds.get(name, "histogram") in ("counter", "histogram")


def labels(text):
    """Returns the names and values in `name="value",name="value"`, with escapes as they are."""
    return dict(re.findall(r'(\w+)="((?:[^"\\]|\\.)*)"', text))
