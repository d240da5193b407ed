-- compatible
-- Broadcasts that wait for a device: it could not take them, for example because it is parked, or an older one of the channel
-- waits for it. The service submits each again until the device takes it or turns it down, it expires, or the service gives up.
CREATE TABLE push.undelivered_broadcasts (
    -- Of the device.
    partition integer NOT NULL,
    key text NOT NULL,
    -- A device takes the broadcasts of a channel in order. Channels do not wait for each other.
    channel text NOT NULL,
    -- A row without its broadcast could never be settled, and would block the channel for ever.
    broadcast bigint NOT NULL CONSTRAINT undelivered_broadcasts_broadcast REFERENCES push.broadcasts,
    -- Why the device did not take it at the last try.
    reason text NOT NULL,
    -- When the wait began, in real time and in suite time (milliseconds since 1970). It ends by the clock that is further on.
    kept_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    kept_time bigint NOT NULL,
    retry_at timestamptz NOT NULL,
    CONSTRAINT undelivered_broadcasts_one PRIMARY KEY (partition, key, channel, broadcast)
);
CREATE INDEX undelivered_broadcasts_retry ON push.undelivered_broadcasts (retry_at);
CREATE INDEX undelivered_broadcasts_left ON push.undelivered_broadcasts (broadcast);

-- Broadcasts on which the service gave up for a device. An operator reads them; the service deletes them after 30 days.
CREATE TABLE push.broadcast_dead_letters (
    -- Of the device.
    partition integer NOT NULL,
    key text NOT NULL,
    broadcast bigint NOT NULL,
    environment text NOT NULL,
    app text NOT NULL,
    channel text NOT NULL,
    -- `apns-request-id` of the provider's request.
    request_id uuid NOT NULL,
    -- Why the last try failed.
    reason text NOT NULL,
    kept_at timestamptz NOT NULL,
    given_up_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    CONSTRAINT broadcast_dead_letters_one PRIMARY KEY (partition, key, broadcast)
);
CREATE INDEX broadcast_dead_letters_age ON push.broadcast_dead_letters (given_up_at);
