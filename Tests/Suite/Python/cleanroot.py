"""A clean root of Debian for package.py, and services that run in it as their unit files say, without systemd.

The root is in memory, and its processes are in namespaces of their own. All of it ends with their first process.
"""
import contextlib
import ctypes
import fcntl
import http.client
import os
import pathlib
import platform
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
import threading
import time

PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
NAMESPACES = ["unshare", "--mount", "--pid", "--ipc", "--fork"]
AS_ROOT = [] if os.geteuid() == 0 else ["sudo", "-n"]


def run(*words, check=True, **settings):
    """Runs a program; returns its output."""
    done = subprocess.run(
        words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
        timeout=1800, **settings)
    if check and done.returncode != 0:
        raise SystemExit(f"{' '.join(map(str, words))}: status {done.returncode}\n{done.stdout[-3000:]}")
    return done.stdout


def is_possible():
    """Whether this user can make namespaces on this machine, and has the programs."""
    try:
        done = subprocess.run([*AS_ROOT, *NAMESPACES, "--net", "true"], stdin=subprocess.DEVNULL, capture_output=True)
    except OSError:
        return False
    return done.returncode == 0 and shutil.which("mmdebstrap") is not None


def enter(*words):
    """Runs a program as root in new namespaces; returns its status. The program calls `end_with_caller` first."""
    command = [*AS_ROOT, *NAMESPACES, "--kill-child", "--mount-proc", *words]
    with subprocess.Popen(command, stdin=subprocess.PIPE) as program:
        return program.wait()


def end_with_caller():
    """Ends this process, and so its namespaces, when the caller of `enter` ends and the pipe between them closes."""
    def watch():
        sys.stdin.read()
        os._exit(130)

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=watch, daemon=True).start()


def go_offline():
    """Moves this process to a network without other machines, where all ports are free."""
    if ctypes.CDLL(None, use_errno=True).unshare(0x40000000) != 0:
        raise OSError(ctypes.get_errno(), "unshare")
    with socket.socket() as one:
        # SIOCSIFFLAGS with IFF_UP and IFF_RUNNING
        fcntl.ioctl(one, 0x8914, struct.pack("16sH14x", b"lo", 0x41))


class Arguments:
    """The arguments of all processes that run meanwhile. Each user of the machine can read them."""

    def __init__(self):
        self.found, self.is_over = set(), threading.Event()
        self.reader = threading.Thread(target=self.read, daemon=True)

    def __enter__(self):
        self.reader.start()
        return self

    def __exit__(self, *_):
        self.is_over.set()
        self.reader.join()

    def read(self):
        while not self.is_over.is_set():
            for path in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
                # The process may have ended.
                with contextlib.suppress(OSError):
                    self.found.add(path.read_text(errors="replace").replace("\0", " "))


class Root:
    """The minimal system of the suite of this machine's distribution."""

    def __init__(self, path, libraries):
        self.path = path
        self.suite = platform.freedesktop_os_release()["VERSION_CODENAME"]
        path.mkdir()
        run("mount", "-t", "tmpfs", "-o", "mode=755", "tmpfs", path)
        run("mmdebstrap", "--quiet", "--mode=root", "--variant=minbase", self.suite, path)
        run("mount", "-t", "proc", "proc", path / "proc")
        run("mount", "--rbind", "/dev", path / "dev")
        run("mount", "-t", "tmpfs", "-o", "mode=1777", "tmpfs", path / "dev/shm")
        if libraries:
            for library in pathlib.Path(libraries).glob("*.so"):
                shutil.copy(library, path / "usr/local/lib")
            self.run("ldconfig")

    def __truediv__(self, path):
        return self.path / path.lstrip("/")

    def run(self, *words, **settings):
        """Runs a program in the root, in the environment of a fresh machine; returns its output."""
        proxies = {name: value for name, value in os.environ.items() if name.lower().endswith("_proxy")}
        environment = {"PATH": PATH, "HOME": "/root", "DEBIAN_FRONTEND": "noninteractive", **proxies}
        return run("chroot", self.path, *words, env=environment, **settings)

    def apt(self, *words):
        return self.run("apt-get", "-q", "-y", "--no-install-recommends", *words)

    def as_postgres(self, *words):
        return self.run("runuser", "-u", "postgres", "--", *words)


class Service:
    """A process that runs as its unit file says, with the restrictions that need no systemd."""

    def __init__(self, root, name, log, port=None):
        self.name, self.log, self.port = name, log, port
        self.unit, environment = self.read_unit(root, name)
        unit, user, group = self.unit, self.unit["User"][0], self.unit["Group"][0]
        for path in unit["ConditionPathExists"]:
            if not (root / path).exists():
                raise SystemExit(f"{name} does not start without {path}")
        folders = [f"/var/lib/{folder}" for folder in unit.get("StateDirectory", [])]
        for folder in folders:
            root.run("install", "-d", "-o", user, "-g", group, "-m", unit["StateDirectoryMode"][0], folder)
        # ProtectSystem=strict and PrivateTmp: only the state and a folder of its own for temporary files are writable.
        script = "\n".join([
            *[f"mount --bind {folder} {folder}" for folder in folders], "mount -o remount,bind,ro /",
            "mount -t tmpfs tmpfs /tmp", f"cd {unit.get('WorkingDirectory', ['/'])[0]}", f"umask {unit['UMask'][0]}",
            # A container may have a lower limit.
            f"ulimit -n {unit.get('LimitNOFILE', ['1024'])[0]} 2>/dev/null || ulimit -n $(ulimit -Hn)",
            f"exec setpriv --reuid {user} --regid {group} --init-groups --inh-caps -all --no-new-privs "
            f"--bounding-set -all {unit['ExecStart'][0]}"])
        with log.open("w") as output:
            self.process = subprocess.Popen(
                ["chroot", root.path, "unshare", "--mount", "sh", "-euc", script], stdin=subprocess.DEVNULL,
                stdout=output, stderr=output, env=environment)

    @staticmethod
    def read_unit(root, name):
        """Returns the lines of a unit file by their keys, and the environment that it gives."""
        unit, environment = {}, {"PATH": PATH}
        for line in (root / f"lib/systemd/system/dormouse-{name}.service").read_text().splitlines():
            if "=" in line and not line.startswith("#"):
                key, value = line.split("=", 1)
                unit.setdefault(key, []).append(value)
        for file in unit["EnvironmentFile"]:
            for line in (root / file).read_text().splitlines():
                if line and not line.startswith("#"):
                    key, value = line.split("=", 1)
                    environment[key] = re.sub(r"""^(['"])(.*)\1$""", r"\2", value)
        return unit, environment

    @classmethod
    def check(cls, root, name):
        """Returns what the command `check` of a service prints if it fails; empty if the service can start."""
        unit, environment = cls.read_unit(root, name)
        done = subprocess.run(
            ["chroot", root.path, "runuser", "-u", unit["User"][0], "--", f"/usr/lib/dormouse/{name}", "check"],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment)
        return done.stdout if done.returncode else ""

    def get(self, path, **headers):
        """Sends a request; returns the status and the body."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            connection.request("GET", path, headers=headers)
            answer = connection.getresponse()
            return answer.status, answer.read()
        finally:
            connection.close()

    def wait_ready(self):
        """Waits until the service is ready; one without a port only has to run."""
        end = time.monotonic() + 60
        while self.port:
            with contextlib.suppress(OSError):
                if self.get("/readyz")[0] == 200:
                    return
            status = self.process.poll()
            if status is not None or time.monotonic() > end:
                problem = "is not ready after 60 s" if status is None else f"ended with {status}"
                raise SystemExit(f"{self.name} {problem}\n{self.log.read_text()[-3000:]}")
            time.sleep(0.1)

    def stop(self):
        """Stops the service as systemd does; returns the faults."""
        limit = int(self.unit["TimeoutStopSec"][0])
        ended = self.process.poll()
        self.process.terminate()
        try:
            status = self.process.wait(limit)
        except subprocess.TimeoutExpired:
            self.process.kill()
            status = f"nothing within {limit} s"
        errors = [line for line in self.log.read_text().splitlines() if re.search(r'"level":"(error|critical)"', line)]
        faults = [f"{self.name} logged {line}" for line in errors]
        if ended is not None:
            faults.append(f"{self.name} ended before it was stopped")
        if status != 0:
            faults.append(f"{self.name} stopped with {status}")
        return faults
