#!/usr/bin/env python3
"""One simulated phone with one app, for Dormouse's `lifecycle`.

It registers itself, installs the app, and opens its order stream. The app is launched, begins a background task, and
the user goes home. From then on it does what it is ordered: handlers return, wakes are worked off and completed,
an expiring background task is ended. It runs until Ctrl-C, or for as long as --for says.

Start the suite with ./deploy/up, then run this from the same folder; or name a service with --url and --key (an
operator's key or a fleet's token). Python 3.8, and nothing beside its standard library.
"""

import argparse
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
    """What a person must know to go on, in one line."""


class Lifecycle:
    """The calls of one device, under one credential."""

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
        """One call, repeated while the service is busy or away. A POST has its effect once: its key tells repeats."""
        headers = {"Idempotency-Key": str(uuid.uuid4())} if method == "POST" else {}
        for patience in (1, 2, 4, 8, None):
            try:
                with self.open(method, path, document, headers) as answer:
                    text = answer.read()
                    return json.loads(text) if text else {}
            except urllib.error.HTTPError as error:
                problem = json.loads(error.read() or b"{}")
                if error.code == 401:
                    raise Problem("the key is not valid there: check --key, or the operatorKey of --endpoints")
                if error.code not in (429, 503) or patience is None:
                    detail = problem.get("detail") or problem.get("title") or error.reason
                    faults = "".join("; %s %s" % (f["pointer"], f["detail"]) for f in problem.get("faults", []))
                    raise Problem("%s %s: %s (%s)%s" % (method, path, detail, problem.get("code"), faults))
                time.sleep(float(error.headers.get("Retry-After", patience)))
            except (urllib.error.URLError, http.client.HTTPException, OSError) as error:
                if patience is None or method == "PUT":
                    reason = getattr(error, "reason", error)
                    raise Problem("nothing answers at %s (%s); ./deploy/up starts the suite" % (self.url, reason))
                time.sleep(patience)

    def orders(self, after):
        """The order stream: yields (id, order). It ends when the connection does."""
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


class Phone:
    """What the device does, and a log that a person can read."""

    def __init__(self, lifecycle, app, seconds_of_work):
        self.lifecycle, self.app, self.seconds_of_work = lifecycle, "/apps/" + app, seconds_of_work
        self.streaming, self.on_screen = threading.Event(), threading.Event()
        self.failure = None

    def say(self, mark, words):
        sys.stdout.write("%s  %s %s\n" % (time.strftime("%H:%M:%S"), mark, words))  # In one piece, whoever else writes.
        sys.stdout.flush()

    # What the user does.

    def live(self, profile):
        registered = self.lifecycle.call("PUT", "", {"profile": profile})
        if "token" in registered:  # Shown this once. From here on the device acts for itself.
            self.lifecycle.key = registered["token"]
        self.say("•", "registered as %s" % registered["device"])
        self.lifecycle.call("PUT", self.app, {
            "backgroundModes": ["fetch", "remote-notification"],
            "handlersReturn": "reported",  # We say ourselves when a handler has returned.
        })
        self.say("•", "installed %s" % self.app[len("/apps/"):])
        threading.Thread(target=self.follow_orders, daemon=True).start()
        self.wait_for(self.streaming, "the order stream")
        # The state tells what the user can do: an app that has a process is opened, not launched.
        state = self.lifecycle.call("GET", self.app)["state"]
        if state == "active":
            self.on_screen.set()
        else:
            self.user("launch" if state == "notRunning" else "open")
        self.wait_for(self.on_screen, "the app on screen")
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

    # What the device is ordered.

    def follow_orders(self):
        """Obeys for ever. Whatever cuts the stream, the next one begins after the last order that was received."""
        last, pause = None, 1
        while True:
            try:
                for place, order in self.lifecycle.orders(last):
                    pause = 1
                    if place is None:  # The stream's own words.
                        if order["type"] == "open":
                            self.streaming.set()
                        continue
                    last = place
                    self.obey(order)
                self.say("!", "the order stream ended; going on after order %s" % last)
            except urllib.error.HTTPError as error:
                if error.code == 410:  # The log does not go back so far any more.
                    last = None
                elif error.code in (401, 404):
                    self.failure = Problem("the order stream is refused: %d %s" % (error.code, error.reason))
                    return
            except (OSError, http.client.HTTPException) as error:
                self.say("!", "the order stream was cut (%s); trying again in %d s" % (error, pause))
            time.sleep(pause)
            pause = min(pause * 2, 30)

    def obey(self, order):
        kind, name, data = order["type"], order["name"], order["data"]
        until = " until " + order["deadline"][11:19] if order["deadline"] else ""
        try:
            if kind == "callback":
                self.say("←", "%s%s" % (", ".join(data["callbacks"]), until))
                if "didBecomeActive" in data["callbacks"]:
                    self.on_screen.set()
                if order["deadline"]:  # Somebody waits for it to return.
                    self.lifecycle.call("POST", "%s/callbacks/%s/completion" % (self.app, name), {})
                    self.say("→", "%s returned" % name)
            elif kind == "wake":
                self.say("←", "woken for %s: %s%s" % (self.cause(data), name, until))
                # Aside, because work takes its time, and an expiration must be heard meanwhile.
                threading.Thread(target=self.work, args=(data,), daemon=True).start()
            elif kind == "expiration":
                self.say("←", "background task %s expires%s" % (data["task"], until))
                self.lifecycle.call("DELETE", "%s/tasks/%s" % (self.app, data["task"]))
                self.say("→", "ended background task %s" % data["task"])
            elif kind == "suspend":
                self.say("·", "suspended")
            elif kind == "terminate":
                self.on_screen.clear()
                self.say("×", "terminated: %s %s" % (data["reason"], data["code"] or ""))
            else:  # Orders of other services, for example the progress of a transfer.
                self.say("←", "%s %s" % (kind, name))
        except Problem as problem:  # Too late, for example: the deadline has passed meanwhile.
            self.say("!", str(problem))

    @staticmethod
    def cause(wake):
        """The reason, with the fetch, the notification, the session or the region that it is about."""
        return wake["reason"] + (" " + wake["request"] if wake["request"] else "")

    def work(self, wake):
        time.sleep(self.seconds_of_work)
        result = {"fetch": {"result": "newData"}, "push": {"result": "newData"}, "task": {"success": True}}
        try:
            self.lifecycle.call("POST", "%s/wakes/%s/completion" % (self.app, wake["wake"]),
                                result.get(wake["reason"], {}))
            self.say("→", "completed the wake for %s" % self.cause(wake))
        except Problem as problem:
            self.say("!", str(problem))


def address(options):
    """Where `lifecycle` is, and the key: from the options, else from what ./deploy/up wrote."""
    if options.url and options.key:
        return options.url, options.key
    try:
        with open(options.endpoints, encoding="utf-8") as file:
            endpoints = json.load(file)
    except OSError as error:
        raise Problem("cannot read %s (%s): start the suite with ./deploy/up, or give --url and --key"
                      % (options.endpoints, error.strerror))
    return options.url or endpoints["lifecycle"], options.key or endpoints["operatorKey"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--url", help="address of lifecycle, for example http://127.0.0.1:8081")
    parser.add_argument("--key", help="an operator's key, or a fleet's token", default=os.environ.get("DORMOUSE_KEY"))
    parser.add_argument("--endpoints", default=".dormouse/endpoints.json",
                        help="the file that ./deploy/up writes, for what is not given (default: %(default)s)")
    parser.add_argument("--device", default="example-phone", help="its identifier (default: %(default)s)")
    parser.add_argument("--app", default="mail", help="the app's identifier (default: %(default)s)")
    parser.add_argument("--profile", default="ios15", choices=["ios6", "ios7", "ios13", "ios15", "ios18"],
                        help="the generation of iOS whose limits it keeps (default: %(default)s)")
    parser.add_argument("--work", type=float, default=1, metavar="S", help="seconds of work in a wake (default: 1)")
    parser.add_argument("--for", type=float, dest="lifetime", metavar="S", help="ends after so many seconds")
    options = parser.parse_args()
    try:
        phone = Phone(Lifecycle(*address(options), options.device), options.app, options.work)
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
