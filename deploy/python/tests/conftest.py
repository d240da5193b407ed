"""A provider of pushes without a client of APNs: HTTP/1.1 and a token of its own."""

from __future__ import annotations

import secrets
import time
from dataclasses import dataclass

import httpx
import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from dormouse import Device, Dormouse, Suite

pytest_plugins = ["pytester"]
APP = "com.example.app"


@dataclass(frozen=True)
class Provider:
    """Sends pushes to the suite."""

    address: str
    credential: str

    def send(self, token: str, payload: dict[str, object], *, kind: str = "alert", topic: str = APP) -> str:
        """Sends a push, and returns its ``apns-id``."""
        headers = {
            "authorization": f"bearer {self.credential}",
            "apns-topic": topic,
            "apns-push-type": kind,
            "apns-priority": "5" if kind == "background" else "10",
        }
        answer = httpx.post(f"{self.address}/3/device/{token}", json=payload, headers=headers)
        assert answer.status_code == 200, answer.text
        return answer.headers["apns-id"]

    def alert(self, device: Device, text: str = "hello") -> str:
        """Sends an alert to the only app of a device."""
        return self.send(device.token, {"aps": {"alert": text}})

    def silent(self, device: Device) -> str:
        """Sends a silent push to the only app of a device."""
        return self.send(device.token, {"aps": {"content-available": 1}}, kind="background")


@pytest.fixture(scope="session")
def provider(dormouse_suite: Suite) -> Provider:
    """A provider with a key that the suite trusts."""
    key = ec.generate_private_key(ec.SECP256R1())
    pem = key.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    key_id, team_id = (secrets.token_hex(5).upper() for _ in range(2))
    dormouse_suite.trust(key_id=key_id, team_id=team_id, public_key=pem.decode())
    claims: dict[str, object] = {"iss": team_id, "iat": int(time.time())}
    token = jwt.encode(claims, key, "ES256", headers={"kid": key_id})
    return Provider(dormouse_suite.endpoints.push, token)


@pytest.fixture
def phone(dormouse: Dormouse) -> Device:
    """A phone whose user has opened its app once, and gone home."""
    phone = dormouse.device("ios26").install(APP, modes=["remote-notification", "fetch"])
    phone.user.opens()
    phone.user.goes_home()
    return phone
