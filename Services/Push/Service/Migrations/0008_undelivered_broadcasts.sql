-- Broadcasts that a device could not take, for example because it is parked: they are handed to it again until it takes one or
-- turns it down. A broadcast stays while a row names it.
CREATE TABLE push.undelivered_broadcasts (
    -- Of the device.
    partition integer NOT NULL,
    broadcast bigint NOT NULL,
    key text NOT NULL,
    -- Why it could not be taken, when it was last tried.
    reason text NOT NULL,
    retry_at timestamptz NOT NULL DEFAULT clock_timestamp() + interval '1 minute',
    CONSTRAINT undelivered_broadcasts_one PRIMARY KEY (partition, key, broadcast)
);
CREATE INDEX undelivered_broadcasts_retry ON push.undelivered_broadcasts (retry_at);
CREATE INDEX undelivered_broadcasts_left ON push.undelivered_broadcasts (broadcast);
