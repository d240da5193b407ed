"""Prints the bill of materials of a release as CycloneDX 1.5: the Swift packages with their resolved versions, the C
libraries whose sources they contain, and the Swift runtime.

Usage: bill.py VERSION SECONDS [EXECUTABLE...]

SECONDS is the time of the commit. Commit ids of packages are left out: a mirror may have others. The sources of the
packages are in .build/checkouts. The version of the Swift runtime is the one that the executables name, or else that of
the compiler on this machine, which builds a release. A release build without debug information may name none.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import uuid
from datetime import datetime, timezone
from pathlib import Path
from typing import NamedTuple


class Vendored(NamedTuple):
    """A library of C whose sources a Swift package contains."""

    name: str
    package: str
    # A file of the package, and where it names the version or the commit of the library.
    file: str
    pattern: str
    # A package URL without its version.
    purl: str


VENDORED = [
    Vendored(
        "boringssl", "swift-crypto", "Sources/CCryptoBoringSSL/hash.txt", r"at revision ([0-9a-f]{40})",
        "pkg:github/google/boringssl"),
    Vendored(
        "boringssl", "swift-nio-ssl", "Sources/CNIOBoringSSL/hash.txt", r"at revision ([0-9a-f]{40})",
        "pkg:github/google/boringssl"),
    Vendored(
        "libyaml", "yams", "CHANGELOG.md", r"yaml/libyaml/compare/[0-9a-f]+\.\.\.([0-9a-f]+)",
        "pkg:github/yaml/libyaml"),
    Vendored(
        "llhttp", "swift-nio", "Sources/CNIOLLHTTP/include/c_nio_llhttp.h",
        r"LLHTTP_VERSION_MAJOR (\d+)\s+#define LLHTTP_VERSION_MINOR (\d+)\s+#define LLHTTP_VERSION_PATCH (\d+)",
        "pkg:github/nodejs/llhttp"),
    Vendored(
        "xkcp", "swift-crypto", "Sources/CXKCP/vendored-sources.txt", r"XKCP#\S+ \(\S+-g([0-9a-f]+)\)",
        "pkg:github/xkcp/xkcp"),
    Vendored(
        "zlib", "swift-nio-extras", "Sources/CNIOExtrasZlib/vendored-zlib.version", r"^(\d\S+)",
        "pkg:github/madler/zlib"),
]
# The static libraries of the toolchain that the executables contain. They have its version.
RUNTIME = [
    "swift", "swift-corelibs-foundation", "swift-corelibs-libdispatch", "swift-foundation", "swift-foundation-icu",
]


def component(name: str, version: str, reference: str = "") -> dict[str, object]:
    """Returns an entry for a library."""
    return {"type": "library", "name": name, "version": version, "bom-ref": reference or f"{name}@{version}"}


def packages() -> tuple[list[dict[str, object]], dict[str, Path]]:
    """Returns an entry for each resolved package, by name, and the folders with their sources."""
    entries, folders = [], {}
    for pin in sorted(json.loads(Path("Package.resolved").read_text())["pins"], key=lambda pin: pin["identity"]):
        name, version, address = pin["identity"], pin["state"].get("version"), pin["location"].removesuffix(".git")
        if version is None:
            sys.exit(f"error: {name} is resolved to a branch or a commit, not to a version")
        entry = component(name, version)
        # A package from a folder of this machine has no address for others.
        if address.startswith("https://"):
            entry["purl"] = f"pkg:swift/{address.removeprefix('https://')}@{version}"
            entry["externalReferences"] = [{"type": "vcs", "url": address}]
        entries.append(entry)
        folders[name] = Path(".build/checkouts", address.split("/")[-1])
    return entries, folders


def vendored(folders: dict[str, Path]) -> list[dict[str, object]]:
    """Returns an entry for each library whose sources a package contains."""
    entries = []
    for library in VENDORED:
        file = folders[library.package] / library.file
        try:
            found = re.search(library.pattern, file.read_text())
        except OSError as error:
            sys.exit(f"error: the version of {library.name} is unknown: {error}; run swift package resolve")
        if found is None:
            sys.exit(f"error: {file} does not name the version of {library.name}: correct deploy/lib/bill.py")
        version = ".".join(found.groups())
        entry = component(library.name, version, f"{library.package}/{library.name}@{version}")
        entry["purl"] = f"{library.purl}@{version}"
        entry["properties"] = [{"name": "dormouse:contained-in", "value": library.package}]
        entries.append(entry)
    return entries


def toolchain(executables: list[str]) -> str:
    """Returns the version of the toolchain that has built the executables, such as 6.3.1."""
    names = set()
    for executable in executables:
        names |= set(re.findall(rb"Swift version (\d[\w.]*) \(swift", Path(executable).read_bytes()))
    if not names:
        try:
            text = subprocess.run(["swift", "--version"], capture_output=True, check=True).stdout
        except (OSError, subprocess.CalledProcessError) as error:
            sys.exit(f"error: the version of the Swift runtime is unknown: {error}")
        names |= set(re.findall(rb"Swift version (\d[\w.]*)", text))
    if len(names) != 1:
        sys.exit(f"error: the executables have several versions of Swift, or none: {sorted(names)}")
    return names.pop().decode()


def runtime(executables: list[str]) -> list[dict[str, object]]:
    """Returns an entry for each library of the Swift runtime."""
    version = toolchain(executables)
    entries = []
    for name in RUNTIME:
        entry = component(name, version, f"toolchain/{name}@{version}")
        entry["purl"] = f"pkg:github/swiftlang/{name}@swift-{version}-RELEASE"
        entries.append(entry)
    return entries


def main() -> None:
    """Prints the document."""
    version, seconds, executables = sys.argv[1], int(sys.argv[2]), sys.argv[3:]
    entries, folders = packages()
    entries += vendored(folders) + runtime(executables)
    subject = {"type": "application", "name": "dormouse", "version": version, "bom-ref": f"dormouse@{version}"}
    content = json.dumps(entries, sort_keys=True)
    document = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, content + version)}",
        "version": 1,
        "metadata": {
            "timestamp": datetime.fromtimestamp(seconds, timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "component": subject,
        },
        "components": entries,
    }
    print(json.dumps(document, indent=2))


if __name__ == "__main__":
    main()
