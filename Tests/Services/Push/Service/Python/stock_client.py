"""Sends requests as a provider does, with httpx and PyJWT, and prints the answers.

Argument: the path of a JSON document.

    {"base": "http://127.0.0.1:8083", "http2": false, "ca": null,
     "keys": {"KEYKEYKEY1": "-----BEGIN PRIVATE KEY-----…"},
     "requests": [{"name": "…", "connection": "a", "method": "POST", "path": "/3/device/…", "headers": [["apns-topic", "…"]],
                   "body": "…", "token": {"kid": "…", "iss": "…", "age": 0}, "certificate": "client.pem", "until": 429,
                   "limit": 200}]}

Requests with the same `connection` share a connection. `body`, `token`, `certificate`, `until` and `limit` are optional. Without a
token no authorization is sent. The certificate belongs to the whole connection. With `until` a request is repeated until it gets
this status, at most `limit` times. Each answer is a line of JSON.
"""

import json
import ssl
import sys
import time

import httpx
import jwt

with open(sys.argv[1], encoding="utf-8") as file:
    plan = json.load(file)

connections = {}
tokens = {}


def trust(certificate):
    context = ssl.create_default_context(cafile=plan.get("ca"))
    if certificate:
        context.load_cert_chain(certificate)
    return context


def connection(name, certificate):
    if name not in connections:
        connections[name] = httpx.Client(
            base_url=plan["base"],
            http1=not plan["http2"],
            http2=plan["http2"],
            verify=trust(certificate),
            timeout=60,
            limits=httpx.Limits(max_connections=1, max_keepalive_connections=1),
        )
    return connections[name]


def token(spec):
    if spec.get("text"):
        return spec["text"]
    # A signature is random: the same token again is the same text.
    known = json.dumps(spec, sort_keys=True)
    if known not in tokens:
        claims = {"iss": spec["iss"], "iat": int(time.time()) - spec.get("age", 0)}
        key = plan["keys"][spec.get("key", spec["kid"])]
        tokens[known] = jwt.encode(claims, key, algorithm="ES256", headers={"kid": spec["kid"]})
    return tokens[known]


def send(request):
    headers = [(name, value) for name, value in request.get("headers", [])]
    if "token" in request:
        headers.append(("authorization", "bearer " + token(request["token"])))
    content = request.get("body")
    return connection(request["connection"], request.get("certificate")).request(
        request["method"],
        request["path"],
        headers=headers,
        content=content.encode() if content is not None else None,
    )


for request in plan["requests"]:
    for _ in range(request.get("limit", 1)):
        answer = send(request)
        if "until" in request and answer.status_code == request["until"]:
            break
    print(
        json.dumps(
            {
                "name": request["name"],
                "version": answer.http_version,
                "status": answer.status_code,
                "headers": {name.lower(): value for name, value in answer.headers.items()},
                "body": answer.text,
            }
        )
    )

for open_connection in connections.values():
    open_connection.close()
