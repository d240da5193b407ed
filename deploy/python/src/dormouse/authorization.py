"""The authorization for notifications, in the form that the suite knows.

Older suites have a switch that is on after an installation. Newer ones have settings with an authorization, which a
manifest may name, and which is ``notDetermined`` without it. The description of ``lifecycle`` says which form it is.
"""

from __future__ import annotations

from typing import Literal

from .problems import DormouseError
from .records import JSON
from .services import Services

Authorization = Literal["authorized", "denied", "provisional", "ephemeral", "notDetermined"]
_MANIFEST = "/v1/devices/{device}/apps/{app}"
_SETTINGS = "/v1/devices/{device}/apps/{app}/settings"


def starting_authorization(services: Services, authorization: Authorization) -> dict[str, JSON]:
    """Returns the members of a manifest for an authorization.

    Raises:
        DormouseError: the suite has only a switch, and the authorization is neither on nor off.
    """
    if "notificationAuthorization" in services.body_members("PUT", "lifecycle", _MANIFEST):
        return {"notificationAuthorization": authorization}
    if authorization not in ("authorized", "denied"):
        raise DormouseError(f"this suite does not know the authorization {authorization!r}, only authorized and denied")
    return {}


def notification_settings(services: Services, allowed: bool) -> dict[str, JSON]:
    """Returns the settings with which the user allows notifications of an app, or denies them."""
    schema = services.body_members("PUT", "lifecycle", _SETTINGS).get("notifications")
    if schema is not None and "enum" in schema:
        return {"notifications": "on" if allowed else "off"}
    return {"notifications": {"authorization": "authorized" if allowed else "denied"}}
