-- compatible
-- The open streams of orders, while time is virtual or the device is built-in. An advance of the clock waits for the
-- answers of their devices. A row counts until it expires: the process that holds the stream renews it.
CREATE TABLE bus.order_streams (
    stream uuid NOT NULL,
    -- The process that holds the stream.
    holder uuid NOT NULL,
    -- The key of the device. Null for a stream of a fleet.
    key text,
    fleet text,
    expires timestamptz NOT NULL,
    CONSTRAINT order_streams_pkey PRIMARY KEY (stream),
    CONSTRAINT order_streams_check CHECK ((key IS NULL) <> (fleet IS NULL))
);
CREATE INDEX order_streams_holder_idx ON bus.order_streams (holder);
CREATE INDEX order_streams_expires_idx ON bus.order_streams (expires);
