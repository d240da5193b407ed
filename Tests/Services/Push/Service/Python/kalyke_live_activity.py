"""Sends pushes for Live Activities with kalyke from the package index, unchanged except for the host and the trusted certificates.

Argument: the path of a JSON document.

    {"base": "https://localhost:2197", "ca": "ca.pem", "key": "key.p8", "keyID": "…", "teamID": "…", "topic": "…",
     "requests": [{"token": "…", "event": "update", "state": {…}}, {"token": "…", "payload": {…}}]}

A request with an `event` is a `LiveActivityPayload`; a `payload` is sent as it is. Each answer is a line of JSON, in the order of the
requests: the `apns-id`, or the name of the error.
"""

import asyncio
import json
import ssl
import sys

import httpx2
from kalyke import LiveActivityApnsConfig, LiveActivityClient, LiveActivityEvent, LiveActivityPayload
from kalyke.exceptions import ApnsProviderException

with open(sys.argv[1], encoding="utf-8") as file:
    plan = json.load(file)


class Client(LiveActivityClient):
    @property
    def _base_url(self):
        return plan["base"]

    def _init_client(self, apns_config):
        client = super()._init_client(apns_config)
        trust = ssl.create_default_context(cafile=plan["ca"])
        return httpx2.AsyncClient(headers=client.headers, http2=True, verify=trust)


def payload(request):
    if "payload" in request:
        return request["payload"]
    return LiveActivityPayload(event=LiveActivityEvent(request["event"]), content_state=request["state"])


async def main():
    client = Client(
        use_sandbox=True, team_id=plan["teamID"], auth_key_id=plan["keyID"], auth_key_filepath=plan["key"])
    config = LiveActivityApnsConfig(topic=plan["topic"] + ".push-type.liveactivity")
    for request in plan["requests"]:
        answer = {"id": None, "error": None}
        try:
            answer["id"] = await client.send_message(
                device_token=request["token"], payload=payload(request), apns_config=config)
        except ApnsProviderException as error:
            answer["error"] = type(error).__name__
        print(json.dumps(answer))


asyncio.run(main())
