"""Starts HAProxy with the configuration of the gateway, where only few open files are allowed. Prints one line per fault.

Usage: gateway.py HAPROXY_CFG
"""
import os
import pathlib
import re
import resource
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

ALLOWED = 3
GREETING = b"here\n"


def greet(listener):
    """Greets each connection and keeps it open, as a service does with a stream."""
    held = []
    while True:
        connection, _ = listener.accept()
        held.append(connection)
        connection.sendall(GREETING)


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return probe.getsockname()[1]


def blocks(pid, number):
    """Whether a process keeps a signal for later."""
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    return int(re.search(r"^SigBlk:\t(\w+)$", status, re.M)[1], 16) >> (number - 1) & 1


def greeted(port):
    """Opens a connection; returns it if the server behind the gateway greets it."""
    try:
        connection = socket.create_connection(("127.0.0.1", port), timeout=10)
        return connection if connection.recv(len(GREETING)) == GREETING else None
    except ConnectionError:
        return None


server = socket.create_server(("127.0.0.1", 0))
threading.Thread(target=greet, args=[server], daemon=True).start()

ports = {}
text = pathlib.Path(sys.argv[1]).read_text()
checks = re.findall(r"option httpchk (.*)", text)
if not checks or set(checks) != {"GET /readyz"}:
    print("the gateway does not ask each service at /readyz")
limits = re.findall(r"^    maxconn (\d+)$", text.partition("\ndefaults\n")[2], re.M)
if not limits:
    print("one port can take all connections of the gateway")
text = re.sub(r"bind :(\d+)", lambda bind: f"bind 127.0.0.1:{ports.setdefault(bind[1], free_port())}", text)
text = re.sub(r"server-template (\w+)-.*", rf"server \1 127.0.0.1:{server.getsockname()[1]}", text)
# Prints a line when the gateway serves: the first one of a process that has bound its ports.
with tempfile.TemporaryDirectory() as folder:
    configuration = pathlib.Path(folder) / "haproxy.cfg"
    configuration.write_text(text)

    def few_files():
        resource.setrlimit(resource.RLIMIT_NOFILE, (2000, 2000))

    gateway = subprocess.Popen(
        ["haproxy", "-W", "-f", str(configuration)], preexec_fn=few_files, start_new_session=True, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True,
        env={**os.environ, "GATEWAY_CONNECTIONS_PER_ADDRESS": str(ALLOWED), "PATH": "/usr/sbin:/usr/bin:/bin"})
    lines = []
    for line in gateway.stdout:
        lines.append(line)
        if "Loading success" in line:
            break
    else:
        print("the gateway does not start with 2000 open files:", *lines)
        sys.exit()
    try:
        held = [greeted(ports["8081"]) for _ in range(ALLOWED)]
        if None in held:
            print(f"the gateway refuses one of {ALLOWED} connections")
        if greeted(ports["8081"]) or greeted(ports["2197"]):
            print(f"the gateway gives one address more than {ALLOWED} connections")
    finally:
        # The signal of `docker stop`, which the process takes after its start. Held connections must not delay the end: the
        # hard stop comes after at most 5 s.
        while blocks(gateway.pid, signal.SIGUSR1):
            time.sleep(0.05)
        gateway.send_signal(signal.SIGUSR1)
        try:
            gateway.wait(timeout=10)
        except subprocess.TimeoutExpired:
            os.killpg(gateway.pid, signal.SIGKILL)
            print("the gateway does not stop while a connection is open")
