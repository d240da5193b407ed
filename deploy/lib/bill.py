"""Prints the bill of materials of a release as CycloneDX 1.5: the Swift packages with their resolved versions.

Usage: bill.py VERSION SECONDS

SECONDS is the time of the commit. Commit ids of packages are left out: a mirror may have others.
"""

from __future__ import annotations

import json
import sys
import uuid
from datetime import datetime, timezone
from pathlib import Path


def components() -> list[dict[str, object]]:
    """Returns an entry for each resolved package, by name."""
    entries = []
    for pin in sorted(json.loads(Path("Package.resolved").read_text())["pins"], key=lambda pin: pin["identity"]):
        name, version, address = pin["identity"], pin["state"].get("version"), pin["location"].removesuffix(".git")
        if version is None:
            sys.exit(f"error: {name} is resolved to a branch or a commit, not to a version")
        entry: dict[str, object] = {
            "type": "library",
            "name": name,
            "version": version,
            "bom-ref": f"{name}@{version}",
        }
        # A package from a folder of this machine has no address for others.
        if address.startswith("https://"):
            entry["purl"] = f"pkg:swift/{address.removeprefix('https://')}@{version}"
            entry["externalReferences"] = [{"type": "vcs", "url": address}]
        entries.append(entry)
    return entries


def main() -> None:
    """Prints the document."""
    version, seconds = sys.argv[1], int(sys.argv[2])
    packages = components()
    subject = {"type": "application", "name": "dormouse", "version": version, "bom-ref": f"dormouse@{version}"}
    content = json.dumps(packages, sort_keys=True)
    document = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, content + version)}",
        "version": 1,
        "metadata": {
            "timestamp": datetime.fromtimestamp(seconds, timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "component": subject,
        },
        "components": packages,
    }
    print(json.dumps(document, indent=2))


if __name__ == "__main__":
    main()
