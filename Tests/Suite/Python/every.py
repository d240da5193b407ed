"""Runs a script several times in one process, because the modules of some scripts load slowly.

Usage: every.py SCRIPT RUNS_FILE - each line of the file is a JSON array with the arguments of a run. Prints a line for
each run: a JSON array with the lines that the script printed.
"""
import contextlib
import io
import json
import pathlib
import runpy
import sys

script, runs = sys.argv[1], pathlib.Path(sys.argv[2])
for line in runs.read_text().splitlines():
    sys.argv = [script, *json.loads(line)]
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        runpy.run_path(script)
    print(json.dumps(output.getvalue().splitlines()))
