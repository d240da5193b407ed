"""Compares the table of all settings with the output of `SERVICE --help`. Prints each line that differs.

Usage: settings.py DOCUMENT HELP_FOLDER - or with `--table` instead of the document, to print the table.
"""
import pathlib
import re
import sys

from suite import ours


def entries(text):
    """Yields `(variable, description, range, default)` of each option."""
    for name, words in re.findall(r"^  --([a-z-]+) +(.+)$", text, re.M):
        found = re.fullmatch(r"(.+?)(?: \((?:([^()]+), )?default (.+)\)| \((\d+ to \d+)\))?", words)
        words, limits, default, alone = ((text or "").replace("|", "\\|") for text in found.groups())
        texts = (words, limits or alone, default)
        yield name.upper().replace("-", "_"), *texts


rows = {}
for service in ours:
    for variable, words, limits, default in entries((pathlib.Path(sys.argv[2]) / f"{service}.txt").read_text()):
        rows.setdefault((variable, words, limits), []).append((service, default))

table = ["| Variable | Of | Default | Range | Meaning |", "| --- | --- | --- | --- | --- |"]
order = sorted(rows.items(), key=lambda row: (len(row[1]) < len(ours), row[1][0][0], row[0]))
for (variable, words, limits), owners in order:
    names = "all" if len(owners) == len(ours) else ", ".join(f"`{service}`" for service, _ in owners)
    defaults = dict(owners)
    if len(set(defaults.values())) == 1:
        default = f"`{owners[0][1]}`" if owners[0][1] else ""
    else:
        default = ", ".join(f"`{value}` ({service})" for service, value in owners)
    table.append(f"| `{variable}` | {names} | {default} | {limits} | {words} |")

if sys.argv[1] == "--table":
    print("\n".join(table))
else:
    told = [line for line in pathlib.Path(sys.argv[1]).read_text().splitlines() if line.startswith("|")]
    for line in table:
        if line not in told:
            print(f"missing: {line}")
    for line in told:
        if line not in table:
            print(f"unexpected: {line}")
