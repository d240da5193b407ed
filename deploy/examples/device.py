#!/usr/bin/env python3
"""A simulated phone with one app, for Dormouse's `lifecycle` and `push`.

It registers itself, installs the app, and opens its order stream. The user launches the app, which gets a device token.
The app begins a background task, and the user goes home. Then it follows orders: handlers return, wakes do work and
are completed, an expiring background task is ended. It holds the push connection of the phone, and acknowledges each
notification. It runs until Ctrl-C, or for the time of --for.

Start the suite with ./deploy/up, then run this in the same folder; or give --url, --push-url and --key (an operator key
or a fleet token). With --url alone, it has no push connection. It needs Python 3.8 and only its standard library.
"""

import argparse
import datetime
import http.client
import json
import os
import sys
import threading
import time
import urllib.error
import urllib.request
import uuid


class Problem(Exception):
    """An error message for the user, on one line."""


def local_time(moment):
    """Converts a time in UTC by RFC 3339 to local time, such as 17:41:14."""
    return datetime.datetime.fromisoformat(moment.replace("Z", "+00:00")).astimezone().strftime("%H:%M:%S")


class Service:
    """The requests of one device to a service, with one credential."""

    def __init__(self, url, key, device):
        self.url, self.key, self.device = url.rstrip("/"), key, "/v1/devices/" + device

    def open(self, method, path, document=None, headers=(), timeout=30):
        body = None if document is None else json.dumps(document).encode()
        request = urllib.request.Request(self.url + self.device + path, body, dict(headers), method=method)
        request.add_header("Authorization", "Bearer " + self.key)
        if body is not None:
            request.add_header("Content-Type", "application/json")
        return urllib.request.urlopen(request, timeout=timeout)

    def call(self, method, path, document=None):
        """Sends a request, with retries. The idempotency key of a POST prevents a second effect."""
        headers = {"Idempotency-Key": str(uuid.uuid4())} if method == "POST" else {}
        for patience in (1, 2, 4, 8, None):
            try:
                with self.open(method, path, document, headers) as answer:
                    text = answer.read()
                    return json.loads(text) if text else {}
            except urllib.error.HTTPError as error:
                problem = json.loads(error.read() or b"{}")
                if error.code == 401:
                    raise Problem("the key is not valid: check --key, or the operatorKey of --endpoints")
                if error.code not in (429, 503) or patience is None:
                    detail = problem.get("detail") or problem.get("title") or error.reason
                    faults = "".join("; %s %s" % (f["pointer"], f["detail"]) for f in problem.get("errors", []))
                    raise Problem("%s %s: %s (%s)%s" % (method, path, detail, problem.get("code"), faults))
                time.sleep(float(error.headers.get("Retry-After", patience)))
            except (urllib.error.URLError, http.client.HTTPException, OSError) as error:
                if patience is None or method == "PUT":
                    reason = getattr(error, "reason", error)
                    raise Problem("no answer from %s (%s); ./deploy/up starts the suite" % (self.url, reason))
                time.sleep(patience)

    def orders(self, after):
        """Yields (id, order) from the order stream until the connection ends."""
        with self.open("GET", "/orders", headers={"Last-Event-ID": after} if after else {}, timeout=60) as stream:
            fields = {}
            for line in stream:  # A heartbeat comes every 15 s, so a longer silence is a lost connection.
                name, _, value = line.decode().rstrip("\n").partition(": ")
                if name:  # A comment has an empty name: ": open", ": heartbeat".
                    fields[name] = value
                elif value:
                    yield None, {"type": value}
                elif "data" in fields:
                    yield fields.get("id"), json.loads(fields["data"])
                    fields = {}


class Push(Service):
    """The requests of one device to `push`."""

    def notifications(self, opened=lambda: None):
        """Yields the notifications of the stream until the connection ends. The stream is the push connection.

        opened is called when the phone is connected.
        """
        with self.open("GET", "/notifications", timeout=60) as stream:
            for line in stream:  # A heartbeat comes every 15 s, so a longer silence is a lost connection.
                name, _, value = line.decode().rstrip("\n").partition(": ")
                if name == "data":
                    yield json.loads(value)
                elif value == "open" and not name:  # The first line is the comment ": open".
                    opened()

    def register(self, app):
        """Returns the device token of a running app. `push` learns of the launch a moment after `lifecycle`."""
        for _ in range(100):
            try:
                return self.call("PUT", app + "/registration", {"environment": "sandbox"})["token"]
            except Problem as problem:
                if not any(code in str(problem) for code in ("not_registered", "not_installed", "not_running")):
                    raise
                time.sleep(0.1)
        raise Problem("push did not learn of the launch within 10 s")

    def acknowledge(self, notification):
        """Acknowledges a notification. An app on screen chooses how the phone shows an alert."""
        path = "/notifications/" + notification["id"]
        if notification.get("willPresent"):
            self.call("POST", path + "/presentation", {"options": ["banner", "list"]})
        else:
            self.call("POST", path + "/ack")


class Phone:
    """The behaviour of the device, with a readable log."""

    def __init__(self, lifecycle, push, app, seconds_of_work):
        self.lifecycle, self.push, self.app, self.seconds_of_work = lifecycle, push, "/apps/" + app, seconds_of_work
        self.streaming, self.on_screen, self.connected = threading.Event(), threading.Event(), threading.Event()
        self.failure = None

    def say(self, mark, words):
        sys.stdout.write("%s  %s %s\n" % (time.strftime("%H:%M:%S"), mark, words))  # One write: several threads print.
        sys.stdout.flush()

    # Actions of the user.

    def live(self, profile):
        registered = self.lifecycle.call("PUT", "", {"profile": profile})
        if "token" in registered:  # Only this response has it. From now on, the device uses its own token.
            self.lifecycle.key = registered["token"]
            if self.push:
                self.push.key = registered["token"]
        self.say("•", "registered as %s" % registered["device"])
        self.lifecycle.call("PUT", self.app, {
            "backgroundModes": ["fetch", "remote-notification"],
            "handlersReturn": "reported",  # The device reports when a handler has returned.
        })
        self.say("•", "installed %s" % self.app[len("/apps/"):])
        threading.Thread(target=self.follow_orders, daemon=True).start()
        self.wait_for(self.streaming, "the order stream")
        # The user opens an app that has a process, and launches any other.
        state = self.lifecycle.call("GET", self.app)["state"]
        if state == "active":
            self.on_screen.set()
        else:
            self.user("launch" if state == "notRunning" else "open")
        self.wait_for(self.on_screen, "the app on screen")
        self.lifecycle.call("POST", self.app + "/authorization-requests", {"options": ["alert"], "answer": "allow"})
        if self.push:
            self.say("•", "device token %s" % self.push.register(self.app))
            threading.Thread(target=self.follow_notifications, daemon=True).start()
            self.wait_for(self.connected, "the push connection")
        task = self.lifecycle.call("POST", self.app + "/tasks", {"name": "save"})
        self.say("→", "begins background task %s" % task["task"])
        self.user("home")

    def user(self, event):
        answer = self.lifecycle.call("POST", self.app + "/transitions", {"event": event})
        self.say("→", "the user: %s; the app is %s" % (event, answer["state"]))

    def wait_for(self, event, what):
        for _ in range(300):
            if event.wait(0.1):
                return
            if self.failure:
                raise self.failure
        raise Problem("waited 30 s for %s" % what)

    # Notifications to the device.

    def follow_notifications(self):
        """Holds the push connection, and acknowledges each notification. It connects again after each disconnection."""
        pause = 1
        while True:
            try:
                for notification in self.push.notifications(self.connected.set):
                    pause = 1
                    self.say("←", "notification %s: %s" % (notification["id"], json.dumps(notification["payload"])))
                    try:
                        self.push.acknowledge(notification)
                        self.say("→", "acknowledged notification %s" % notification["id"])
                    except Problem as problem:  # For example, a newer notification has replaced it.
                        self.say("!", str(problem))
                self.say("!", "the push connection ended; connecting again")
            except urllib.error.HTTPError as error:
                if error.code in (401, 404):
                    self.failure = Problem("the service refuses the push connection: %d %s" % (error.code, error.reason))
                    return
                self.say("!", "the push connection was refused (%d); retrying in %d s" % (error.code, pause))
            except (OSError, http.client.HTTPException) as error:
                self.say("!", "the push connection failed (%s); retrying in %d s" % (error, pause))
            time.sleep(pause)
            pause = min(pause * 2, 30)

    # Orders to the device.

    def follow_orders(self):
        """Follows orders. After each disconnection, the stream resumes after the last received order."""
        last, pause = None, 1
        while True:
            try:
                for place, order in self.lifecycle.orders(last):
                    pause = 1
                    if place is None:  # A comment of the stream.
                        if order["type"] == "open":
                            self.streaming.set()
                        continue
                    last = place
                    self.obey(order)
                self.say("!", "the order stream ended; resuming after order %s" % last)
            except urllib.error.HTTPError as error:
                if error.code == 410:  # The log no longer has the position.
                    last = None
                elif error.code in (401, 404):
                    self.failure = Problem("the service refuses the order stream: %d %s" % (error.code, error.reason))
                    return
            except (OSError, http.client.HTTPException) as error:
                self.say("!", "the order stream failed (%s); retrying in %d s" % (error, pause))
            time.sleep(pause)
            pause = min(pause * 2, 30)

    def obey(self, order):
        kind, name, data, app = order["type"], order["name"], order["data"], "/apps/" + order["app"]
        until = " until " + local_time(order["deadline"]) if order["deadline"] else ""
        try:
            if kind == "callback":
                self.say("←", "%s%s" % (", ".join(data["callbacks"]), until))
                if "didBecomeActive" in data["callbacks"]:
                    self.on_screen.set()
                if order["deadline"]:  # The suite waits for the handler to return.
                    self.lifecycle.call("POST", "%s/callbacks/%s/completion" % (app, name), {})
                    self.say("→", "%s returned" % name)
            elif kind == "wake":
                self.say("←", "woken for %s: %s%s" % (self.cause(data), name, until))
                # In a thread, because work takes time, and the stream must deliver an expiration meanwhile.
                threading.Thread(target=self.work, args=(app, data), daemon=True).start()
            elif kind == "expiration":
                self.say("←", "background task %s expires%s" % (data["task"], until))
                self.lifecycle.call("DELETE", "%s/tasks/%s" % (app, data["task"]))
                self.say("→", "ended background task %s" % data["task"])
            elif kind == "suspend":
                self.say("·", "suspended")
            elif kind == "terminate":
                self.on_screen.clear()
                self.say("×", "terminated: %s %s" % (data["reason"], data["code"] or ""))
            else:  # Orders of other services, for example the progress of a transfer.
                self.say("←", "%s %s" % (kind, name))
        except Problem as problem:  # For example, the deadline has passed.
            self.say("!", str(problem))

    @staticmethod
    def cause(wake):
        """Returns the reason, with its fetch, notification, session or region."""
        return wake["reason"] + (" " + wake["request"] if wake["request"] else "")

    def work(self, app, wake):
        time.sleep(self.seconds_of_work)
        result = {"fetch": {"result": "newData"}, "push": {"result": "newData"}, "task": {"success": True}}
        try:
            self.lifecycle.call("POST", "%s/wakes/%s/completion" % (app, wake["wake"]), result.get(wake["reason"], {}))
            self.say("→", "completed the wake for %s" % self.cause(wake))
        except Problem as problem:
            self.say("!", str(problem))


def address(options):
    """Returns the URLs of `lifecycle` and `push` and the key, from the options or from the file of ./deploy/up."""
    if options.url and options.key:
        return options.url, options.push_url, options.key
    try:
        with open(options.endpoints, encoding="utf-8") as file:
            endpoints = json.load(file)
    except OSError as error:
        raise Problem("cannot read %s (%s): start the suite with ./deploy/up, or give --url and --key"
                      % (options.endpoints, error.strerror))
    return (options.url or endpoints["lifecycle"], options.push_url or endpoints["push"],
            options.key or endpoints["operatorKey"])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--url", help="address of lifecycle, for example http://127.0.0.1:8081")
    parser.add_argument("--push-url", help="address of push, for example http://127.0.0.1:8083")
    parser.add_argument("--key", help="an operator key or a fleet token", default=os.environ.get("DORMOUSE_KEY"))
    parser.add_argument("--endpoints", default=".dormouse/endpoints.json",
                        help="the file of ./deploy/up, for what the other options leave out (default: %(default)s)")
    parser.add_argument("--device", default="example-phone", help="the identifier of the device (default: %(default)s)")
    parser.add_argument("--app", default="mail", help="the identifier of the app (default: %(default)s)")
    parser.add_argument("--profile", default="ios15", choices=["ios6", "ios7", "ios9", "ios12", "ios13", "ios15", "ios16", "ios17", "ios18", "ios26"],
                        help="the generation of iOS whose limits apply (default: %(default)s)")
    parser.add_argument("--work", type=float, default=1, metavar="S", help="seconds of work in a wake (default: 1)")
    parser.add_argument("--for", type=float, dest="lifetime", metavar="S", help="seconds until the end (default: none)")
    options = parser.parse_args()
    try:
        url, push_url, key = address(options)
        push = Push(push_url, key, options.device) if push_url else None
        phone = Phone(Service(url, key, options.device), push, options.app, options.work)
        phone.live(options.profile)
        end = None if options.lifetime is None else time.monotonic() + options.lifetime
        while (end is None or time.monotonic() < end) and not phone.failure:
            time.sleep(0.2)
        if phone.failure:
            raise phone.failure
    except Problem as problem:
        sys.exit("device.py: %s" % problem)
    except KeyboardInterrupt:
        print()


if __name__ == "__main__":
    main()
