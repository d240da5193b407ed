"""Reads a feed of events with the SDK of CloudEvents, and prints their number.

Usage: feed.py FILE - a JSON array, or an event a line
"""
import json
import pathlib
import sys

from cloudevents.core.bindings.http import HTTPMessage, from_structured_event

text = pathlib.Path(sys.argv[1]).read_text()
events = json.loads(text) if text.startswith("[") else [json.loads(line) for line in text.splitlines()]
for event in events:
    message = HTTPMessage({"content-type": "application/cloudevents+json"}, json.dumps(event).encode())
    parsed = from_structured_event(message)
    assert parsed.get_id() == event["id"] and parsed.get_source() == event["source"]
    assert parsed.get_type() == event["type"] and parsed.get_specversion() == "1.0"
    assert parsed.get_data() == event["data"], event
    assert parsed.get_time().isoformat(timespec="milliseconds").replace("+00:00", "Z") == event["time"], event["time"]
    for name in event:
        assert name.isalnum() and name.islower() and len(name) <= 20, f"{name} is not a valid attribute name"
print(len(events))
