"""Both forms of the authorization for notifications."""

from __future__ import annotations

import httpx
import pytest

from dormouse import DormouseError
from dormouse.authorization import notification_settings, starting_authorization
from dormouse.services import Services

from .test_services import ENDPOINTS

APP_PATH = "/v1/devices/{device}/apps/{app}"


def described(manifest: dict[str, object], settings: dict[str, object]) -> Services:
    """Returns services whose description has these members."""

    def operation(members: dict[str, object]) -> dict[str, object]:
        schema = {"type": "object", "properties": members}
        return {"put": {"requestBody": {"content": {"application/json": {"schema": schema}}}}}

    document = {"paths": {APP_PATH: operation(manifest), APP_PATH + "/settings": operation(settings)}}
    return Services(ENDPOINTS, httpx.MockTransport(lambda _: httpx.Response(200, json=document)))


def test_a_suite_with_a_switch() -> None:
    services = described({"scenes": {"type": "boolean"}}, {"notifications": {"enum": ["on", "off", None]}})
    assert starting_authorization(services, "authorized") == {}
    assert starting_authorization(services, "denied") == {}
    with pytest.raises(DormouseError, match="does not know the authorization 'provisional'"):
        starting_authorization(services, "provisional")
    assert notification_settings(services, True) == {"notifications": "on"}
    assert notification_settings(services, False) == {"notifications": "off"}


def test_a_suite_with_settings() -> None:
    services = described(
        {"notificationAuthorization": {"enum": ["authorized"]}}, {"notifications": {"type": "object", "properties": {}}}
    )
    assert starting_authorization(services, "provisional") == {"notificationAuthorization": "provisional"}
    assert notification_settings(services, False) == {"notifications": {"authorization": "denied"}}
