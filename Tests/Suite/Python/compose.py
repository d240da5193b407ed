"""Brings docker-compose.yml up in a Docker engine, as its documentation says, and checks it through the gateway:
the demonstration fleet, monitoring, kills under load, replicas, an upgrade, a database that is away, a backup with its
restore, other keys and passwords, and the ways to other machines.

Usage: compose.py [CHECKOUT]

DOCKER is the command of Docker (default: docker), with the Compose plugin. The project is `dormouse-trial`. Its ports
are published on 127.0.0.9, and its folder is a copy of the checkout with secrets of its own, so a suite of this machine
is not touched. Prints a line for each step. Without an engine it prints "skipped: no Docker engine". Without an image
of Prometheus or Grafana it prints "skipped: no image of …". Ends with status 1 and the faults if there are any.
"""
import pathlib
import sys

sys.dont_write_bytecode = True

import compose_documented as documented  # noqa: E402
import compose_engine as engine  # noqa: E402
import compose_operation as operation  # noqa: E402
from compose_clients import faults, say  # noqa: E402

STEPS = [
    documented.start, operation.simulate_fleet, operation.check_addresses, documented.observe, operation.kill_each,
    operation.scale, operation.drain, operation.restart_database, operation.stop_database, operation.upgrade,
    documented.back_up, documented.change_operators, documented.change_secrets, documented.open_way_out,
    operation.stop_gateway,
]

if not engine.answers():
    print("skipped: no Docker engine")
    raise SystemExit(0)
engine.prepare(pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parents[3]).resolve())
try:
    for step in STEPS:
        step()
finally:
    engine.compose(
        "--profile", "demo", "--profile", "observability", "down", "--volumes", "--timeout", "20", check=False)
    engine.remove()
if faults:
    raise SystemExit("\n".join(faults))
say("no faults")
