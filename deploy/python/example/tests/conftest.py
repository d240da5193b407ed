"""The backend under test, with the suite in the place of Apple's servers."""

from __future__ import annotations

import secrets
from urllib.parse import urlsplit

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec
from scores import APP
from scores.clips import Clips
from scores.notifier import Notifier, Provider

from dormouse import Dormouse, Suite


@pytest.fixture(scope="session")
def notifier(dormouse_suite: Suite) -> Notifier:
    """The notifier with a new key, which the suite trusts."""
    key = ec.generate_private_key(ec.SECP256R1())
    public = key.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    # A team of its own for each run: tests may run at the same time against one suite.
    key_id, team_id = (secrets.token_hex(5).upper() for _ in range(2))
    dormouse_suite.trust(key_id=key_id, team_id=team_id, public_key=public.decode())
    apns = urlsplit(dormouse_suite.endpoints.apns)
    provider = Provider(
        key=private.decode(),
        key_id=key_id,
        team_id=team_id,
        topic=APP,
        host=apns.hostname,
        port=apns.port or 443,
        authority=dormouse_suite.endpoints.ca,
    )
    return Notifier(provider)


@pytest.fixture
def clips(dormouse: Dormouse) -> Clips:
    """The store of clips, on the server of tus in the suite."""
    return Clips(dormouse.endpoints.transfer, dormouse.headers)
