"""Prints a Compose file that pins the images of docker-compose.yml and of its Dockerfile to their digests.

Usage: images.py

The digest of each tag comes from the registry now, so that later builds use the same images. IMAGE_REGISTRY is the URL of
a mirror to ask instead of Docker Hub.
"""

from __future__ import annotations

import json
import os
import re
import sys
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path

REGISTRY = os.environ.get("IMAGE_REGISTRY", "https://registry-1.docker.io").rstrip("/")
# An index of several architectures comes first: its digest fits all machines.
KINDS = [
    "application/vnd.oci.image.index.v1+json",
    "application/vnd.docker.distribution.manifest.list.v2+json",
    "application/vnd.oci.image.manifest.v1+json",
    "application/vnd.docker.distribution.manifest.v2+json",
]


def ask(url: str, token: str | None) -> str:
    """Returns the digest that a registry gives for a manifest."""
    headers = {"Accept": ", ".join(KINDS)} | ({"Authorization": f"Bearer {token}"} if token else {})
    with urllib.request.urlopen(urllib.request.Request(url, headers=headers, method="HEAD"), timeout=30) as answer:
        return answer.headers.get("Docker-Content-Digest", "")


def fetch_token(challenge: str) -> str:
    """Returns the token of the address that a registry names when it refuses a request."""
    fields = dict(re.findall(r'(\w+)="([^"]*)"', challenge))
    if not challenge.lower().startswith("bearer ") or "realm" not in fields:
        sys.exit(f"error: {REGISTRY} asks for a kind of credential that this script does not know: {challenge}")
    query = urllib.parse.urlencode({key: fields[key] for key in ("service", "scope") if key in fields})
    with urllib.request.urlopen(f"{fields['realm']}?{query}", timeout=30) as answer:
        document = json.load(answer)
    return document.get("token") or document["access_token"]


def pin(image: str) -> str:
    """Returns an image with its tag and its digest."""
    name, tag = image.rsplit(":", 1)
    url = f"{REGISTRY}/v2/{name if '/' in name else f'library/{name}'}/manifests/{tag}"
    try:
        try:
            digest = ask(url, None)
        except urllib.error.HTTPError as error:
            if error.code != 401:
                raise
            digest = ask(url, fetch_token(error.headers.get("WWW-Authenticate", "")))
    except (OSError, ValueError, KeyError) as error:
        sys.exit(f"error: {REGISTRY} gives no digest of {image}: {error}")
    if not re.fullmatch(r"sha256:[0-9a-f]{64}", digest):
        sys.exit(f"error: {REGISTRY} gives no digest of {image}, but '{digest}'")
    return f"{image}@{digest}"


def main() -> None:
    """Prints the file."""
    services: dict[str, str] = {}
    service = ""
    for line in Path("docker-compose.yml").read_text().splitlines():
        if found := re.fullmatch(r"  ([a-z]+):", line):
            service = found[1]
        elif (found := re.fullmatch(r"    image: (\S+)", line)) and found[1] != "dormouse:local":
            services[service] = found[1]
    bases = re.findall(r"^ARG (\w+_IMAGE)=(\S+)$", Path("deploy/docker/Dockerfile").read_text(), re.MULTILINE)
    print("# The images of this release: docker compose -f docker-compose.yml -f THIS_FILE up --build --wait")
    print("services:")
    for name, image in services.items():
        print(f"  {name}: {{ image: '{pin(image)}' }}")
    print("  migrate:\n    build:\n      args:")
    for name, image in bases:
        print(f"        {name}: '{pin(image)}'")


if __name__ == "__main__":
    main()
