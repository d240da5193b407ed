-- What the log says of a notification is found by its id: a device has more events than a timeline has lines. Only what names one
-- is in it.
CREATE INDEX events_notification ON bus.events (partition, (data ->> 'notification'))
    WHERE source = 'push' AND data ->> 'notification' IS NOT NULL;
