"""Runs the whole suite with replicas under random faults, and checks that it loses nothing and that its memory is bounded.

Usage: soak.py [--minutes N] [--seed N] [--devices N] [--replicas N] [--pause SECONDS] [--binaries DIR] [--output DIR]

It starts ./deploy/up with its own data folder and ports, a fleet of simulated devices, and writers that repeat each
command until it is acknowledged. The faults: killed and stopped services, a restarted and a killed PostgreSQL, cut
connections, a full disk (as root, in a mount namespace of its own), and steps of the clocks of one service and of
PostgreSQL (where libfaketime is installed, the latter as root). The seed gives the same order of faults; it is printed.
At the end each acknowledged command is in the log once, the log is sound, and the fleet has seen no forbidden response.
The output folder gets the memory of each process as CSV and SVG. Ends with status 1 and the faults if there are any.
"""
import argparse
import collections
import concurrent.futures
import contextlib
import csv
import glob
import http.client
import json
import os
import pathlib
import random
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import uuid

checkout = pathlib.Path(__file__).resolve().parents[3]
parser = argparse.ArgumentParser(description="Runs the suite under random faults.")
parser.add_argument("--minutes", type=float, default=10)
parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 32))
parser.add_argument("--devices", type=int, default=100)
parser.add_argument("--replicas", type=int, default=2)
parser.add_argument("--pause", type=float, default=0.02, help="seconds between two commands of each of the four writers")
parser.add_argument("--binaries", help="runs these executables instead of building them")
parser.add_argument("--output", default=str(checkout / ".build/soak"))
options = parser.parse_args()

BASE = 28080
PORTS = {"ops": BASE, "lifecycle": BASE + 1, "fetch": BASE + 2, "push": BASE + 3, "transfer": BASE + 4}
SERVICES = ["lifecycle", "fetch", "push", "transfer", "ops"]
# The bound of a process; a service keeps states in memory up to STATE_CACHE_MIB (256).
MOST_MEMORY = 700 << 20
begun = time.monotonic()
failures = []
chance = random.Random(options.seed)
output = pathlib.Path(options.output).resolve()
events = []


def say(text):
    print(f"{time.monotonic() - begun:8.1f} s  {text}", flush=True)


def expect(holds, text):
    if not holds:
        failures.append(text)
        say(f"FAILURE: {text}")


def sh(script, check=True, timeout=180):
    """Runs a script with the functions of deploy/lib, for the data folder; returns its output."""
    head = "set -euo pipefail; " + "".join(
        f"source deploy/lib/{part}.sh; "
        for part in ("output", "packages", "process", "restart", "archive", "cluster", "suite"))
    done = subprocess.run(
        ["bash", "-c", f"{head} use_data '{data}'; find_cluster; database_port=$(<\"$runs/database.port\"); {script}"],
        cwd=checkout, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=timeout)
    if check and done.returncode != 0:
        raise RuntimeError(f"{script}: status {done.returncode}\n{done.stdout[-2000:]}")
    return done.stdout


def deploy(*words, check=True):
    done = subprocess.run(
        ["./deploy/" + words[0], *words[1:]], cwd=checkout, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        timeout=3600, stdin=subprocess.DEVNULL)
    if check and done.returncode != 0:
        raise RuntimeError(f"deploy/{' '.join(words)}: status {done.returncode}\n{done.stdout[-3000:]}")
    return done.stdout


def call(port, method, path, document=None, key=None, timeout=20):
    """Sends a request; returns the status and the document."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=timeout)
    try:
        headers = {"Authorization": f"Bearer {operator}", "Connection": "close"}
        if document is not None:
            headers["Content-Type"] = "application/json"
        if key:
            headers["Idempotency-Key"] = key
        connection.request(method, path, json.dumps(document) if document is not None else None, headers)
        answer = connection.getresponse()
        text = answer.read()
        return answer.status, json.loads(text) if text[:1] in (b"{", b"[") else text
    finally:
        connection.close()


def insist(service, method, path, document=None, limit=180):
    """Sends a request, each time to another replica, until it succeeds; returns the answer and the repetitions."""
    key, end, repeats = str(uuid.uuid4()), time.monotonic() + limit, 0
    while True:
        replica = 0 if service == "ops" else repeats % options.replicas
        with contextlib.suppress(OSError, http.client.HTTPException):
            status, answer = call(PORTS[service] + 10 * replica, method, path, document, key)
            if 200 <= status < 300:
                return answer, repeats
            if status not in (429, 503, 504):
                raise RuntimeError(f"{method} {path} of {service}: {status} {answer}")
        if time.monotonic() > end:
            raise RuntimeError(f"{method} {path} of {service}: no success within {limit} s")
        repeats += 1
        time.sleep(0.1)


class Writer:
    """Sends commands for one device, one after another."""

    def __init__(self, number):
        self.device = f"writer-{number}"
        self.count = self.repeats = 0
        insist("lifecycle", "PUT", f"/v1/devices/{self.device}", {"profile": "ios18"})

    def run(self):
        while not ended.is_set():
            level = 1 + self.count % 100
            _, repeats = insist(
                "lifecycle", "PATCH", f"/v1/devices/{self.device}/conditions", {"battery": {"level": level / 100}})
            self.count, self.repeats = self.count + 1, self.repeats + repeats
            time.sleep(options.pause)

    def check(self):
        """Each acknowledged command is in the log once."""
        found, cursor = 0, ""
        while True:
            page, _ = insist(
                "ops", "GET", f"/v1/events?device={self.device}&type=lifecycle.conditions.changed&limit=500{cursor}")
            found += len(page["items"])
            if not page.get("next"):
                break
            cursor = f"&cursor={page['next']}"
        expect(found == self.count, f"{self.device}: {found} events for {self.count} acknowledged commands")


# MARK: Faults


def pids():
    """The processes of the suite, by name."""
    found = {}
    for file in glob.glob(f"{data}/run/*.pid"):
        with contextlib.suppress(OSError, ValueError, IndexError):
            pid = int(pathlib.Path(file).read_text().split()[0])
            os.kill(pid, 0)
            found[pathlib.Path(file).stem] = pid
    return found


def kill_service():
    service = chance.choice(SERVICES)
    pause = chance.uniform(0, 4)
    deploy("fault", "--data", data, "kill", service)
    time.sleep(pause)
    deploy("fault", "--data", data, "start", service)
    return f"killed {service} for {pause:.1f} s"


def stop_process():
    name = chance.choice(sorted(set(pids()) - {"database", "fleet"}))
    pause = chance.uniform(2, 20)
    pid = pids()[name]
    os.kill(pid, signal.SIGSTOP)
    time.sleep(pause)
    os.kill(pid, signal.SIGCONT)
    return f"stopped {name} for {pause:.1f} s"


def restart_database():
    mode = chance.choice(["fast", "immediate"])
    sh(
        f'as_owner "$programs/pg_ctl" -D "$home/data" -l "$home/database.log" -w -t 120 -m {mode} -s restart;'
        ' record database "$(head -n 1 "$home/data/postmaster.pid")"')
    return f"restarted PostgreSQL ({mode})"


def kill_database():
    pause = chance.uniform(0, 5)
    os.kill(pids()["database"], signal.SIGKILL)
    time.sleep(pause)
    sh(
        'clear_stale_cluster; as_owner "$programs/pg_ctl" -D "$home/data" -l "$home/database.log" -w -t 120 -s start;'
        ' record database "$(head -n 1 "$home/data/postmaster.pid")"')
    return f"killed PostgreSQL for {pause:.1f} s"


def cut_connections():
    share = chance.choice([0.3, 1])
    count = sh(
        "echo \"SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE usename LIKE 'dormouse\\_%'"
        f" AND random() < {share}\" | administer postgres").strip()
    return f"cut {count} connections to PostgreSQL"


def fill_disk():
    pause = chance.uniform(3, 15)
    filler = pathlib.Path(data) / "content/filler"
    with contextlib.suppress(OSError), open(filler, "wb") as file:
        while True:
            file.write(bytes(1 << 20))
            file.flush()
    time.sleep(pause)
    filler.unlink()
    return f"filled the disk of transfer for {pause:.1f} s"


def step_clock():
    step = chance.choice([-3600, -60, 60, 3600])
    pause = chance.uniform(5, 20)
    clock.write_text(f"{step:+d}\n")
    time.sleep(pause)
    clock.write_text("+0\n")
    return f"stepped the clock of fetch by {step} s for {pause:.1f} s"


def step_database_clock():
    # The clock of the database decides when deadlines are due. The fleet would report the effects of a larger step.
    step = chance.choice([-20, -5, 5, 20])
    pause = chance.uniform(5, 20)
    database_clock.write_text(f"{step:+d}\n")
    time.sleep(pause)
    database_clock.write_text("+0\n")
    return f"stepped the clock of PostgreSQL by {step} s for {pause:.1f} s"


def share_clock():
    """Starts a process that owns the shared memory of libfaketime. Returns it, and the name of the memory.

    Without the name, libfaketime changes the environment of each process, and Swift then finds no arguments.
    """
    script = 'echo "$FAKETIME_SHARED"; exec sleep infinity'
    keeper = subprocess.Popen(
        ["faketime", "-m", "-f", "+0", "sh", "-c", script], stdout=subprocess.PIPE, text=True, start_new_session=True)
    return keeper, keeper.stdout.readline().strip()


def wrap_postgres(library):
    """Lets PostgreSQL run with a clock that this script moves. The mount is visible in this namespace alone."""
    programs = subprocess.run(
        ["bash", "-euc", "for part in output packages; do source deploy/lib/$part.sh; done; postgres_programs"],
        cwd=checkout, stdout=subprocess.PIPE, text=True, check=True).stdout
    program = pathlib.Path(programs.strip()) / "postgres"
    copy = pathlib.Path(data) / "postgres"
    shutil.copy2(program, copy)
    database_clock.write_text("+0\n")
    wrapper = pathlib.Path(data) / "postgres-with-clock"
    # The server finds its libraries by its own name.
    wrapper.write_text(
        f"#!/bin/bash\nexport LD_PRELOAD={library} FAKETIME_TIMESTAMP_FILE={database_clock} FAKETIME_CACHE_DURATION=1"
        f" FAKETIME_DONT_FAKE_MONOTONIC=1\nexec -a {program} {copy} \"$@\"\n")
    wrapper.chmod(0o755)
    subprocess.run(["mount", "--bind", wrapper, program], check=True)


# MARK: Memory


def resident(pid):
    return int(pathlib.Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE")


def private(pid):
    """The memory of a backend without what it shares with the others."""
    fields = pathlib.Path(f"/proc/{pid}/statm").read_text().split()
    return (int(fields[1]) - int(fields[2])) * os.sysconf("SC_PAGESIZE")


def watch():
    with open(output / "memory.csv", "w", newline="") as file:
        table = csv.writer(file)
        table.writerow(["seconds", "process", "bytes"])
        while not watched.wait(5):
            now = time.monotonic() - begun
            for name, pid in pids().items():
                with contextlib.suppress(OSError, IndexError, ValueError):
                    size = resident(pid)
                    if name == "database":
                        children = pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
                        size = sum(private(child) for child in children)
                    series[name].append((now, size))
                    table.writerow([f"{now:.0f}", name, size])
            file.flush()


def plot():
    """Writes the memory of all processes over time, with the faults as marks."""
    width, height, left = 1100, 420, 60
    last = max(moment for points in series.values() for moment, _ in points)
    most = max(size for points in series.values() for _, size in points) * 1.05

    def at(moment, size):
        return f"{left + moment / last * (width - left - 150):.1f},{height - 30 - size / most * (height - 50):.1f}"

    colours = ["#1f77b4", "#ff7f0e", "#2ca02c", "#d62728", "#9467bd", "#8c564b", "#e377c2", "#7f7f7f", "#bcbd22", "#17becf"]
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="12">',
        f'<rect width="{width}" height="{height}" fill="white"/>']
    for moment, text in events:
        x = at(moment, 0).split(",")[0]
        parts.append(f'<line x1="{x}" x2="{x}" y1="20" y2="{height - 30}" stroke="#ddd"><title>{text}</title></line>')
    for number, (name, points) in enumerate(sorted(series.items())):
        line = " ".join(at(*point) for point in points)
        colour = colours[number % len(colours)]
        parts.append(f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="1.5"/>')
        parts.append(f'<text x="{width - 140}" y="{30 + 18 * number}" fill="{colour}">{name}</text>')
    for step in range(5):
        size = most * step / 4
        y = at(0, size).split(",")[1]
        parts.append(f'<text x="{left - 6}" y="{y}" text-anchor="end">{size / (1 << 20):.0f} MiB</text>')
        parts.append(f'<text x="{at(last * step / 4, 0).split(",")[0]}" y="{height - 10}">{last * step / 4 / 60:.0f} min</text>')
    (output / "memory.svg").write_text("\n".join(parts + ["</svg>"]) + "\n")


def check_memory():
    """Memory has a bound, and does not grow between the second and the last quarter."""
    for name, points in sorted(series.items()):
        sizes = [size for _, size in points]
        quarter = len(sizes) // 4
        say(f"memory of {name}: at most {max(sizes) / (1 << 20):.0f} MiB, at the end {sizes[-1] / (1 << 20):.0f} MiB")
        expect(max(sizes) < MOST_MEMORY, f"{name} used {max(sizes) >> 20} MiB")
        if quarter > 5:
            early, late = statistics.median(sizes[quarter:2 * quarter]), statistics.median(sizes[-quarter:])
            expect(late < 1.5 * early + (64 << 20), f"the memory of {name} grew from {early / 1e6:.0f} to {late / 1e6:.0f} MB")


# MARK: The run

if os.geteuid() == 0 and "DORMOUSE_SOAK_NAMESPACE" not in os.environ and shutil.which("unshare"):
    # A small file system for the content, which nothing outside sees.
    os.environ["DORMOUSE_SOAK_NAMESPACE"] = "1"
    os.execvp("unshare", ["unshare", "--mount", "--propagation", "private", sys.executable, *sys.argv])

data = tempfile.mkdtemp(prefix="dormouse-soak-")
os.chmod(data, 0o755)
output.mkdir(parents=True, exist_ok=True)
series = collections.defaultdict(list)
ended, watched = threading.Event(), threading.Event()
faults = [kill_service, stop_process, stop_process, restart_database, kill_database, cut_connections]
clock = pathlib.Path(data) / "clock"
database_clock = pathlib.Path(data) / "database-clock"
say(f"seed {options.seed}, {options.minutes} minutes, {options.devices} devices, {options.replicas} replicas")

if not options.binaries:
    subprocess.run(
        ["bash", "-euc", "for part in output packages build; do source deploy/lib/$part.sh; done; build release "
         + " ".join([*SERVICES, "fleet"])], cwd=checkout, check=True)
binaries = pathlib.Path(options.binaries or checkout / ".build/release").resolve()
keeper = None
library = next(iter(glob.glob("/usr/lib/*/faketime/libfaketimeMT.so.1")), None)
if library:
    # `fetch` runs with a clock that this script moves.
    wrapped = pathlib.Path(data) / "binaries"
    wrapped.mkdir()
    for program in SERVICES + ["fleet"]:
        (wrapped / program).symlink_to(binaries / program)
    (wrapped / "fetch").unlink()
    clock.write_text("+0\n")
    keeper, memory = share_clock()
    (wrapped / "fetch").write_text(
        f"#!/bin/sh\nexport LD_PRELOAD={library} FAKETIME_SHARED='{memory}' FAKETIME_TIMESTAMP_FILE={clock}"
        f" FAKETIME_NO_CACHE=1 FAKETIME_DONT_FAKE_MONOTONIC=1\nexec {binaries}/fetch \"$@\"\n")
    (wrapped / "fetch").chmod(0o755)
    binaries = wrapped
    faults.append(step_clock)
    if os.environ.get("DORMOUSE_SOAK_NAMESPACE"):
        wrap_postgres(library)
        faults.append(step_database_clock)
    else:
        say("no steps of PostgreSQL's clock: they need root")
else:
    say("no steps of the clock: they need Debian's libfaketime")
if os.environ.get("DORMOUSE_SOAK_NAMESPACE"):
    (pathlib.Path(data) / "content").mkdir(mode=0o700)
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256m,mode=0700", "tmpfs", f"{data}/content"], check=True)
    # The reserve of free space must fit into the small file system.
    os.environ["DATA_RESERVE"] = str(32 << 20)
    faults.append(fill_disk)
else:
    say("no full disks: they need root")

fleet, home = None, ""
try:
    deploy(
        "up", "--detach", "--no-fleet", "--data", data, "--port-base", str(BASE), "--replicas", str(options.replicas),
        "--binaries", str(binaries))
    home = sh('printf %s "$home"')
    operator = (pathlib.Path(data) / "secrets/operator-key").read_text().strip()
    summary = output / "fleet.json"
    with open(output / "fleet.log", "w") as log:
        fleet = subprocess.Popen(
            [binaries / "fleet", "run", "--devices", str(options.devices), "--for", "24h", "--rate", "60", "--pushes-per-minute", "120",
             "--endpoints", f"{data}/endpoints.json", "--summary-json", summary],
            stdout=log, stderr=log, stdin=subprocess.DEVNULL)
    threading.Thread(target=watch, daemon=True).start()
    writers = [Writer(number) for number in range(4)]
    with concurrent.futures.ThreadPoolExecutor(len(writers)) as pool:
        running = [pool.submit(writer.run) for writer in writers]
        try:
            end = time.monotonic() + 60 * options.minutes
            while time.monotonic() < end:
                time.sleep(chance.uniform(3, 15))
                fault = chance.choice(faults)
                events.append((time.monotonic() - begun, fault.__name__))
                say(fault())
                if fleet.poll() is not None:
                    expect(False, f"the fleet ended with status {fleet.returncode}: see {output}/fleet.log")
                    break
                for task in running:
                    if task.done():
                        task.result()
        finally:
            ended.set()
        for task in running:
            task.result()
    say(f"{sum(writer.count for writer in writers)} commands acknowledged, {sum(writer.repeats for writer in writers)} repeated")
    fleet.send_signal(signal.SIGINT)
    expect(fleet.wait(timeout=300) == 0, f"the fleet ended with status {fleet.returncode}: see {output}/fleet.log")
    found = json.loads(summary.read_text()) if summary.exists() else {}
    expect(found.get("ok") is True, f"the fleet has seen a forbidden response or lost data: see {output}/fleet.log")
    limit = time.monotonic() + 300
    while True:
        items = insist("ops", "GET", "/v1/consumers")[0]["items"]
        if all(item["lag"] == 0 for item in items):
            break
        if time.monotonic() > limit:
            expect(False, f"consumers are still behind: {items}")
            break
        time.sleep(1)
    check = insist("ops", "GET", "/v1/log/check?folds=100")[0]
    expect(check.get("sound") is True, f"the log is not sound: {check}")
    letters = insist("ops", "GET", "/v1/dead-letters")[0]["items"]
    expect(not letters, f"there are dead letters: {letters[:3]}")
    for writer in writers:
        writer.check()
    watched.set()
    plot()
    check_memory()
finally:
    ended.set()
    watched.set()
    if keeper:
        os.killpg(keeper.pid, signal.SIGKILL)
    if fleet and fleet.poll() is None:
        fleet.kill()
    for name, pid in pids().items():
        with contextlib.suppress(OSError):
            os.kill(pid, signal.SIGCONT)
    if failures and (pathlib.Path(data) / "log").exists():
        shutil.copytree(f"{data}/log", output / "log", dirs_exist_ok=True)
    deploy("down", "--data", data, check=False)
    if os.environ.get("DORMOUSE_SOAK_NAMESPACE"):
        subprocess.run(["umount", "--lazy", f"{data}/content"], check=False)
    shutil.rmtree(data, ignore_errors=True)
    # As root, the database may be outside of the data folder.
    if home:
        shutil.rmtree(home, ignore_errors=True)
if failures:
    raise SystemExit("\n".join(failures))
say(f"no failures; see {output}/memory.svg")
