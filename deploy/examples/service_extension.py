#!/usr/bin/env python3
"""A simulated phone whose app has a notification service extension, for Dormouse's `push`.

It registers itself, installs the app, launches it once for its device token, and prints the token. Then it follows
the notifications of the phone. For an alert with `mutable-content`, it runs the extension: it decodes the member
`secret` of the payload (Base64) and sends the text as the new body. It acknowledges other notifications.

Start the suite with ./deploy/up, then run this in the same folder. Send for example:

    {"aps": {"alert": "A new message", "mutable-content": 1}, "secret": "TWVldCBtZSBhdCA5"}

It needs Python 3.8, its standard library, and device.py beside it.
"""

import argparse
import base64
import binascii
import http.client
import json
import sys
import time

from device import Problem, Push, Service, local_time


def say(mark, words):
    print("%s  %s %s" % (time.strftime("%H:%M:%S"), mark, words), flush=True)


def extend(notification):
    """The extension: returns the changed content; an empty one keeps the original."""
    secret = notification["payload"].get("secret")
    if not isinstance(secret, str):
        return {}
    try:
        return {"body": base64.b64decode(secret, validate=True).decode()}
    except (binascii.Error, UnicodeDecodeError):
        return {"subtitle": "This message cannot be read"}


def receive(push, notification):
    path = "/notifications/" + notification["id"]
    if "extensionDeadline" not in notification:
        push.acknowledge(notification)
        return say("←", "acknowledged %s" % notification["payload"])
    say("←", "extension runs until %s: %s" % (local_time(notification["extensionDeadline"]), notification["payload"]))
    result = push.call("POST", path + "/content", extend(notification))
    say("→", "content is changed" if result["isModified"] else "content is the original")
    if result["willPresent"]:  # The app is on screen, and its delegate shows the alert as a banner.
        push.call("POST", path + "/presentation", {"options": ["banner", "list"]})
        say("→", "willPresent: banner")


def live(lifecycle, push, app):
    registered = lifecycle.call("PUT", "", {"profile": "ios18"})
    if "token" in registered:  # Only this response has it. From now on, the device uses its own token.
        lifecycle.key = push.key = registered["token"]
    path = "/apps/" + app
    lifecycle.call("PUT", path, {"notificationServiceExtension": True})
    state = lifecycle.call("GET", path)["state"]
    if state != "active":  # Only a running app can register for notifications.
        lifecycle.call("POST", path + "/transitions", {"event": "launch" if state == "notRunning" else "open"})
    lifecycle.call("POST", path + "/authorization-requests", {"options": ["alert"], "answer": "allow"})
    token = push.register(path)
    lifecycle.call("POST", path + "/transitions", {"event": "home"})
    say("•", "device token %s" % token)
    while True:
        try:
            for notification in push.notifications():
                try:
                    receive(push, notification)
                except Problem as problem:  # For example, the time of the extension is over.
                    say("!", str(problem))
        except (OSError, http.client.HTTPException) as error:
            say("!", "the stream failed (%s); connecting again" % error)
        time.sleep(1)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--endpoints", default=".dormouse/endpoints.json",
                        help="the file of ./deploy/up (default: %(default)s)")
    parser.add_argument("--device", default="extension-phone", help="the identifier of the device (default: %(default)s)")
    parser.add_argument("--app", default="com.example.app", help="the bundle identifier (default: %(default)s)")
    options = parser.parse_args()
    try:
        with open(options.endpoints, encoding="utf-8") as file:
            endpoints = json.load(file)
    except OSError as error:
        sys.exit("service_extension.py: cannot read %s (%s): start the suite with ./deploy/up"
                 % (options.endpoints, error.strerror))
    key = endpoints["operatorKey"]
    try:
        live(Service(endpoints["lifecycle"], key, options.device), Push(endpoints["push"], key, options.device),
             options.app)
    except Problem as problem:
        sys.exit("service_extension.py: %s" % problem)
    except KeyboardInterrupt:
        print()


if __name__ == "__main__":
    main()
