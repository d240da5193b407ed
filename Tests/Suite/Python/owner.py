"""Sets the password of the database's owner as deploy/up and docker-compose.yml do, in clusters of its own, and sets
another one. Prints a line for each fault: a password in the log of PostgreSQL or in the arguments of a process, or a
password that does not work.

Usage: owner.py CHECKOUT - needs the programs of PostgreSQL
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
from cleanroot import Arguments  # noqa: E402

checkout = pathlib.Path(sys.argv[1]).resolve()
# The server logs each statement of sessions with this option.
LOGGED = {**os.environ, "PGOPTIONS": "-c log_min_duration_statement=0"}
# The functions of deploy/lib; $1 is the data folder.
FUNCTIONS = """
set -euo pipefail
cd "$0"
for name in output packages process suite archive cluster; do source "deploy/lib/$name.sh"; done
use_data "$1"
make_folders
find_cluster
"""
# As the container: the script with the secret of this folder, on an empty volume, and again. There, the image starts
# the server, and its user can read the secret.
CONTAINER = """
start_cluster 1
chmod 711 "$secrets"
chmod 444 "$secrets/database-owner"
administer postgres <<<'DROP DATABASE dormouse; DROP ROLE dormouse'
export PGHOST=$sockets PGPORT=$database_port
text=$(sed "s|/run/secrets/|$secrets/|" deploy/docker/database.sh)
for _ in 1 2; do as_owner env PATH="$programs:$PATH" bash -c "$text"; done
"""
CONNECT = """
PGOPTIONS="" PGPASSWORD=$(<"$secrets/database-owner") "$programs/psql" -XAt \\
    --host=127.0.0.1 --port="$(<"$runs/database.port")" \\
    --username=dormouse --dbname=dormouse --command="SELECT 'connected'"
"""


def run(script, data):
    """Runs a script after the functions; returns its output."""
    done = subprocess.run(
        ["bash", "-c", FUNCTIONS + script, checkout, data], env=LOGGED, stdin=subprocess.DEVNULL, capture_output=True,
        text=True, timeout=60)
    if done.returncode:
        print(f"status {done.returncode}: {done.stdout}{done.stderr}")
    return done.stdout


def check(name, script):
    with tempfile.TemporaryDirectory(prefix="dormouse-owner-") as data:
        os.chmod(data, 0o711)
        secret = pathlib.Path(data, "secrets/database-owner")
        secret.parent.mkdir()
        for password in ["one-password-of-the-owner", "another-password-of-the-owner"]:
            secret.unlink(missing_ok=True)
            secret.write_text(password)
            with Arguments() as arguments:
                run(script, data)
            log = pathlib.Path(data, "log/database.log").read_text()
            found = set(re.findall("ALTER USER dormouse PASSWORD '([^$']*)", log))
            if found != {"SCRAM-SHA-256"} or password in log:
                print(f"{name}: the statements in the log set {found or 'no password'}, and the password may be there")
            if any(password in words for words in arguments.found):
                print(f"{name}: the arguments of a process have the password")
            if run(CONNECT, data).splitlines()[-1:] != ["connected"]:
                print(f"{name}: the owner can't connect")
        run("stop_cluster", data)


check("deploy/up", "start_cluster 1")
check("docker-compose.yml", CONTAINER)
