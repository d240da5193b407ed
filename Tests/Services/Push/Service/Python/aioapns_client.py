"""Sends notifications with aioapns from the package index, unchanged except for the host and the trusted certificates.

Argument: the path of a JSON document.

    {"port": 2197, "ca": "ca.pem", "key": "-----BEGIN PRIVATE KEY-----…" or null, "keyID": "…", "teamID": "…",
     "certificate": "client.pem" or null, "topic": "…", "requests": [{"token": "…", "message": {…}, "type": "alert", "priority": 10,
     "collapse": "…", "ttl": 3600}]}

All requests are sent at once. Each answer is a line of JSON, in the order of the requests.
"""

import asyncio
import json
import ssl
import sys

from aioapns import APNs, NotificationRequest, PushType
from aioapns.connection import APNsDevelopmentClientProtocol, APNsTLSClientProtocol

with open(sys.argv[1], encoding="utf-8") as file:
    plan = json.load(file)

APNsDevelopmentClientProtocol.APNS_SERVER = "localhost"
APNsTLSClientProtocol.APNS_PORT = plan["port"]


async def main():
    trust = ssl.create_default_context(cafile=plan["ca"])
    common = {"topic": plan["topic"], "use_sandbox": True, "ssl_context": trust, "max_connections": 4}
    if plan.get("certificate"):
        client = APNs(client_cert=plan["certificate"], **common)
    else:
        client = APNs(key=plan["key"], key_id=plan["keyID"], team_id=plan["teamID"], **common)
    requests = [
        NotificationRequest(
            device_token=request["token"],
            message=request["message"],
            push_type=PushType(request.get("type", "alert")),
            priority=request.get("priority"),
            collapse_key=request.get("collapse"),
            time_to_live=request.get("ttl"),
        )
        for request in plan["requests"]
    ]
    answers = await asyncio.gather(*(client.send_notification(request) for request in requests))
    for answer in answers:
        print(
            json.dumps(
                {
                    "id": answer.notification_id,
                    "status": answer.status,
                    "reason": answer.description,
                    "timestamp": answer.timestamp,
                }
            )
        )


asyncio.run(main())
