"""Sends scores to phones with aioapns."""

from __future__ import annotations

import asyncio
import ssl
from dataclasses import dataclass

from aioapns import APNs, NotificationRequest, PushType
from aioapns.connection import APNsDevelopmentClientProtocol, APNsTLSClientProtocol


@dataclass(frozen=True)
class Provider:
    """The account of the backend at APNs."""

    key: str
    key_id: str
    team_id: str
    topic: str
    host: str | None = None
    """Another host than Apple's, for tests."""
    port: int = 443
    authority: str | None = None
    """The certificate authority of another host."""


class Notifier:
    """Sends notifications about a match."""

    def __init__(self, provider: Provider) -> None:
        self._provider: Provider = provider

    def goal(self, tokens: list[str], text: str) -> list[str]:
        """Shows a goal on phones, and returns the ``apns-id`` of each notification."""
        message: dict[str, object] = {"aps": {"alert": text, "sound": "goal.caf"}}
        return asyncio.run(self._send(tokens, message, PushType.ALERT, 10))

    def refresh(self, tokens: list[str]) -> list[str]:
        """Wakes the apps, so that they load the table of the league."""
        message: dict[str, object] = {"aps": {"content-available": 1}}
        return asyncio.run(self._send(tokens, message, PushType.BACKGROUND, 5))

    async def _send(self, tokens: list[str], message: dict[str, object], kind: PushType, priority: int) -> list[str]:
        client = self._client()
        requests = [
            NotificationRequest(device_token=token, message=message, push_type=kind, priority=priority)
            for token in tokens
        ]
        answers = await asyncio.gather(*(client.send_notification(request) for request in requests))
        refused = [answer.description for answer in answers if not answer.is_successful]
        if refused:
            raise RuntimeError(f"APNs refused {len(refused)} notifications: {refused}")
        return [answer.notification_id for answer in answers]

    def _client(self) -> APNs:
        provider = self._provider
        context = None
        if provider.host is not None:
            context = ssl.create_default_context(cafile=provider.authority)
            # aioapns has no option for another host.
            APNsDevelopmentClientProtocol.APNS_SERVER = provider.host  # pyright: ignore[reportAttributeAccessIssue]
            APNsTLSClientProtocol.APNS_PORT = provider.port  # pyright: ignore[reportAttributeAccessIssue]
        return APNs(
            key=provider.key,
            key_id=provider.key_id,
            team_id=provider.team_id,
            topic=provider.topic,
            use_sandbox=True,
            ssl_context=context,
        )
