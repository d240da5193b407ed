"""What the checks of docker-compose.yml and of deploy/kubernetes ask of the services themselves."""
import pathlib
import re

ours = ["lifecycle", "fetch", "push", "transfer", "ops"]


class Settings:
    """What each service knows as a setting, from what `SERVICE --help` prints: SERVICE.txt in a folder."""

    def __init__(self, help_folder):
        self.known = {name: self._of(pathlib.Path(help_folder) / f"{name}.txt") for name in ours}
        self.all = set().union(*self.known.values())

    @staticmethod
    def _of(path):
        flags = re.findall(r"^  --([a-z0-9-]+) ", path.read_text(), re.M)
        return {flag.upper().replace("-", "_") for flag in flags}


def assigned(command):
    """The variables that a shell script sets."""
    return set(re.findall(r"\b([A-Z][A-Z_]+)=", " ".join(command or [])))


def default(value):
    """What Compose makes of a value where nothing is set: ${NAME:-default}."""
    return re.sub(r"\$\{[A-Z_]+:-([^}]*)\}", r"\1", str(value))
