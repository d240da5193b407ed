"""Functions for the checks of docker-compose.yml and deploy/kubernetes."""
import pathlib
import re

ours = ["lifecycle", "fetch", "push", "transfer", "ops"]


class Settings:
    """The settings of each service, from the output of `SERVICE --help`: SERVICE.txt in a folder."""

    def __init__(self, help_folder):
        self.known = {name: self._of(pathlib.Path(help_folder) / f"{name}.txt") for name in ours}
        self.all = set().union(*self.known.values())

    @staticmethod
    def _of(path):
        flags = re.findall(r"^  --([a-z0-9-]+) ", path.read_text(), re.M)
        return {flag.upper().replace("-", "_") for flag in flags}


def assigned(command):
    """Returns the variables that a shell script sets."""
    return set(re.findall(r"\b([A-Z][A-Z_]+)=", " ".join(command or [])))


def default(value):
    """Returns the value of ${NAME:-default} in Compose if NAME is not set."""
    return re.sub(r"\$\{[A-Z_]+:-([^}]*)\}", r"\1", str(value))
