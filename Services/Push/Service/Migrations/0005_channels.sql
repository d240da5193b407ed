-- Broadcast channels (Apple, "Sending channel management requests to APNs").
CREATE TABLE push.channels (
    -- Of the app's key, `app:<bundle>`.
    partition integer NOT NULL,
    environment text NOT NULL
        CONSTRAINT channels_environment CHECK (environment IN ('sandbox', 'production')),
    app text NOT NULL,
    -- 16 random bytes in Base64.
    channel text NOT NULL,
    -- 0: nothing is stored; 1: the most recent message.
    policy integer NOT NULL CONSTRAINT channels_policy CHECK (policy IN (0, 1)),
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    CONSTRAINT channels_one PRIMARY KEY (partition, environment, app, channel)
);

-- How many channels an app has: who makes one counts it here first, so that two at once can't pass the limit.
CREATE TABLE push.channel_counts (
    partition integer NOT NULL,
    environment text NOT NULL,
    app text NOT NULL,
    channels integer NOT NULL CONSTRAINT channel_counts_none_left CHECK (channels >= 0),
    CONSTRAINT channel_counts_one PRIMARY KEY (partition, environment, app)
);

-- Broadcasts that were answered for and have not reached every partition. Their numbers order those of a channel.
CREATE TABLE push.broadcasts (
    broadcast bigint GENERATED ALWAYS AS IDENTITY CONSTRAINT broadcasts_one PRIMARY KEY,
    environment text NOT NULL,
    app text NOT NULL,
    channel text NOT NULL,
    request_id uuid NOT NULL,
    priority integer NOT NULL,
    -- Suite time in milliseconds since 1970; null where the provider left it to policy.
    expiration bigint,
    never_stored boolean NOT NULL,
    payload bytea NOT NULL,
    traceparent text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp()
);

-- The outbox: what of a broadcast is still to be handed to the devices of a partition. Written with the broadcast, deleted when
-- all of them have it. Whoever works on one holds it for a lease in real time.
CREATE TABLE push.broadcast_relays (
    partition integer NOT NULL,
    broadcast bigint NOT NULL,
    channel text NOT NULL,
    -- The devices up to this key have it.
    after text NOT NULL DEFAULT '',
    owner uuid,
    leased_until timestamptz NOT NULL DEFAULT '-infinity',
    CONSTRAINT broadcast_relays_one PRIMARY KEY (partition, broadcast)
);
CREATE INDEX broadcast_relays_left ON push.broadcast_relays (broadcast);
CREATE INDEX broadcast_relays_order ON push.broadcast_relays (partition, channel, broadcast);

-- Which devices may hear a channel: all that do, and some that do no longer. Their states tell. A row is written before the
-- device's registration, and removed when the device turns a broadcast down.
CREATE TABLE push.subscriptions (
    -- Of the device.
    partition integer NOT NULL,
    app text NOT NULL,
    channel text NOT NULL,
    key text NOT NULL,
    touched_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    CONSTRAINT subscriptions_one PRIMARY KEY (partition, app, channel, key)
);
