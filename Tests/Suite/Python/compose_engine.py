"""The Docker engine and the Compose project of compose.py, and the commands of the documentation.

DOCKER is the command of Docker (default: docker). The project is `dormouse-trial`. Its ports are published on
127.0.0.9, and its folder is a copy of the checkout with secrets and a `.env` of its own.
"""
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import tempfile
import time

docker = shlex.split(os.environ.get("DOCKER", "docker"))
PROJECT = "dormouse-trial"
ADDRESS = "127.0.0.9"
COPIED = [".dockerignore", "docker-compose.yml", "Package.swift", "Package.resolved", "Shared", "Services", "deploy"]
folder = pathlib.Path()
environment = {}


def answers():
    """Whether there is a Docker engine."""
    try:
        done = subprocess.run(docker + ["info"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=30)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0


def prepare(checkout):
    """Copies the checkout into a folder below it, because the engine may see no other folder."""
    global folder
    (checkout / ".build").mkdir(exist_ok=True)
    parent = pathlib.Path(tempfile.mkdtemp(prefix="containers-", dir=checkout / ".build"))
    folder = parent / "dormouse"
    folder.mkdir()
    for name in COPIED:
        source = checkout / name
        if source.is_dir():
            shutil.copytree(source, folder / name, symlinks=True, ignore=shutil.ignore_patterns("__pycache__"))
        elif source.exists():
            shutil.copy2(source, folder / name)
    # The documented commands find the Docker of DOCKER as `docker`.
    program = parent / "bin/docker"
    program.parent.mkdir()
    words = [shutil.which(docker[0]) or docker[0]] + docker[1:]
    program.write_text(f'#!/bin/sh\nexec {shlex.join(words)} "$@"\n')
    program.chmod(0o755)
    # Only .env has settings. A variable of the caller would override it.
    own = set(re.findall(r"\$\{([A-Z_]+)", (folder / "docker-compose.yml").read_text()))
    environment.update({
        name: value for name, value in os.environ.items() if name not in own and not name.startswith("COMPOSE_")})
    environment["PATH"] = f"{program.parent}:{environment['PATH']}"
    configure()


def remove():
    shutil.rmtree(folder.parent, ignore_errors=True)


def configure(**settings):
    """Writes the settings into .env; without one, its default applies."""
    lines = {"COMPOSE_PROJECT_NAME": PROJECT, "BIND_ADDRESS": ADDRESS, **settings}
    (folder / ".env").write_text("".join(f"{name}={value}\n" for name, value in lines.items()))


def run(*words, check=True):
    """Runs Docker; returns its output."""
    return execute(["docker", *words], check)


def compose(*words, check=True):
    return run("compose", *words, check=check)


def follow(commands):
    """Runs commands of the documentation as they stand; returns their output."""
    return execute(["bash", "-euo", "pipefail", "-c", commands])


def execute(command, check=True):
    done = subprocess.run(
        command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, timeout=3600)
    text = done.stdout.decode(errors="replace")
    if check and done.returncode != 0:
        raise SystemExit(f"{' '.join(command)}: status {done.returncode}\n{text[-3000:]}")
    return text


def documented(page, beginning):
    """Returns the commands of a page whose first line begins so: indented lines up to an empty one."""
    for paragraph in re.split(r"\n\s*\n", (folder / page).read_text()):
        is_code = all(line.startswith("    ") for line in paragraph.splitlines())
        if is_code and paragraph.strip().startswith(beginning):
            return "\n".join(line.strip() for line in paragraph.splitlines())
    raise SystemExit(f"{page} has no commands that begin with: {beginning}")


def documented_line(page, beginning):
    """Returns one command of a page, on an indented line that begins so."""
    for line in (folder / page).read_text().splitlines():
        if line.startswith("    ") and line.strip().startswith(beginning):
            return line.strip()
    raise SystemExit(f"{page} has no command that begins with: {beginning}")


def secret(name):
    return (folder / ".dormouse/compose" / name).read_text().strip()


def containers():
    """The ids of the containers of the project, by service."""
    lines = compose("ps", "--all", "--format", "json").splitlines()
    found = {}
    for row in [json.loads(line) for line in lines if line.startswith("{")]:
        found.setdefault(row["Service"], []).append(row["ID"])
    return found


def inspect(kind, name):
    """Returns the description of a container or a network."""
    return json.loads(run(kind, "inspect", name))[0]


def is_present(image):
    """Whether the engine has an image or gets it from a registry."""
    return run("image", "inspect", "--format", "{{.Id}}", image, check=False).startswith("sha256:") or (
        "Status:" in run("pull", image, check=False))


def wait_until_healthy(container, limit=60):
    end = time.monotonic() + limit
    while inspect("container", container)["State"].get("Health", {}).get("Status") != "healthy":
        if time.monotonic() > end:
            raise SystemExit(f"the container {container} is not healthy after {limit} s")
        time.sleep(0.5)
