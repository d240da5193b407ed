-- The tables of `push` beside the states.

-- The public keys with which providers sign their tokens.
CREATE TABLE push.provider_keys (
    -- The partition of the key `team:<id>`.
    partition integer NOT NULL,
    team text NOT NULL,
    environment text NOT NULL
        CONSTRAINT provider_keys_environment_check CHECK (environment IN ('sandbox', 'production')),
    key_id text NOT NULL,
    public_key text NOT NULL,
    -- Empty: all topics of the team.
    topics text[] NOT NULL,
    -- A team has at most two keys for all its topics in each environment. A key for some topics has no slot.
    slot integer CONSTRAINT provider_keys_slot_check CHECK (slot BETWEEN 1 AND 2),
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    CONSTRAINT provider_keys_pkey PRIMARY KEY (partition, team, environment, key_id),
    CONSTRAINT provider_keys_partition_team_environment_slot_key UNIQUE (partition, team, environment, slot),
    CONSTRAINT provider_keys_topics_check CHECK ((slot IS NULL) = (cardinality(topics) > 0))
);

-- Device tokens and notification ids contain a hash of the key of their device. The cast reads backslashes as escapes,
-- but keys have none.
CREATE INDEX states_partition_locator_idx ON push.states (partition, substr(sha256(key::bytea), 1, 14));

-- For the timeline of a notification. Only events about a notification are in the index. A block of its own, because Citus
-- repeats the text of a command on its workers, and they take one command at a time.
DO $$ BEGIN
    CREATE INDEX events_partition_notification_idx ON bus.events (partition, (data ->> 'notification'))
        WHERE source = 'push' AND data ->> 'notification' IS NOT NULL;
END $$;

-- The processes that hold connections of devices. A holder whose lease has expired is dead. The clock of the database
-- decides.
CREATE TABLE push.holders (
    holder uuid NOT NULL,
    expires_at timestamptz NOT NULL,
    -- Until this time another process ends the connections of a dead holder.
    claimed_until timestamptz NOT NULL DEFAULT '-infinity',
    CONSTRAINT holders_pkey PRIMARY KEY (holder)
);

-- The open connections. A row is written before its connection begins and deleted after it has ended. So there may be
-- more rows than connections, but never fewer.
CREATE TABLE push.connections (
    partition integer NOT NULL,
    key text NOT NULL,
    connection uuid NOT NULL,
    holder uuid NOT NULL CONSTRAINT connections_holder_fkey REFERENCES push.holders,
    CONSTRAINT connections_pkey PRIMARY KEY (partition, key, connection)
);
CREATE INDEX connections_holder_connection_idx ON push.connections (holder, connection);

-- The log was searched up to here for connections without a row.
CREATE TABLE push.connection_positions (
    partition integer NOT NULL,
    log_offset bigint NOT NULL,
    CONSTRAINT connection_positions_pkey PRIMARY KEY (partition)
) WITH (fillfactor = 50);
INSERT INTO push.connection_positions (partition, log_offset) SELECT partition, head FROM bus.partitions;

-- The number of notifications that reached each status in each hour of suite time. It is a projection of the log.
CREATE TABLE push.notification_counts (
    partition integer NOT NULL,
    -- Hours since 1970.
    hour bigint NOT NULL,
    app text NOT NULL,
    push_type text NOT NULL,
    status text NOT NULL,
    n bigint NOT NULL,
    -- The fleet of the device at the status; empty for none.
    fleet text NOT NULL DEFAULT '',
    CONSTRAINT notification_counts_pkey PRIMARY KEY (partition, hour, app, push_type, status, fleet)
);

-- The devices with a fleet, as of the last counted event.
CREATE TABLE push.device_fleets (
    partition integer NOT NULL,
    key text NOT NULL,
    fleet text NOT NULL,
    CONSTRAINT device_fleets_pkey PRIMARY KEY (partition, key)
);

-- The events up to here are counted. The position moves in the transaction of the counts, so each event counts once.
CREATE TABLE push.count_positions (
    partition integer NOT NULL,
    log_offset bigint NOT NULL DEFAULT 0,
    CONSTRAINT count_positions_pkey PRIMARY KEY (partition)
) WITH (fillfactor = 50);
INSERT INTO push.count_positions (partition) SELECT partition FROM bus.partitions;

-- Broadcast channels (Apple, "Sending channel management requests to APNs").
CREATE TABLE push.channels (
    -- The partition of the key `app:<bundle>`.
    partition integer NOT NULL,
    environment text NOT NULL
        CONSTRAINT channels_environment_check CHECK (environment IN ('sandbox', 'production')),
    app text NOT NULL,
    -- 16 random bytes in Base64.
    channel text NOT NULL,
    -- 0: nothing is stored; 1: the most recent message.
    policy integer NOT NULL CONSTRAINT channels_policy_check CHECK (policy IN (0, 1)),
    -- The provider that created it, such as `team:A1B2C3D4E5`.
    creator text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    CONSTRAINT channels_pkey PRIMARY KEY (partition, environment, app, channel)
);

-- The number of channels of an app. A transaction increments it before it creates a channel, so concurrent requests
-- can't exceed the limit.
CREATE TABLE push.channel_counts (
    partition integer NOT NULL,
    environment text NOT NULL,
    app text NOT NULL,
    channels integer NOT NULL CONSTRAINT channel_counts_channels_check CHECK (channels >= 0),
    CONSTRAINT channel_counts_pkey PRIMARY KEY (partition, environment, app)
);

-- Accepted broadcasts that have not reached every partition. Their numbers give the order within a channel.
CREATE TABLE push.broadcasts (
    broadcast bigint GENERATED ALWAYS AS IDENTITY CONSTRAINT broadcasts_pkey PRIMARY KEY,
    environment text NOT NULL,
    app text NOT NULL,
    channel text NOT NULL,
    request_id uuid NOT NULL,
    priority integer NOT NULL,
    -- Suite time in milliseconds since 1970. Null if the request has no expiration: the policy of the channel decides.
    expiration bigint,
    never_stored boolean NOT NULL,
    payload bytea NOT NULL,
    traceparent text,
    actor text,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp()
);

-- The outbox of broadcasts: one row for each partition whose devices do not all have the broadcast. The rows are written
-- with the broadcast. A process leases a row in real time while it works on it.
CREATE TABLE push.broadcast_relays (
    partition integer NOT NULL,
    broadcast bigint NOT NULL,
    channel text NOT NULL,
    -- The devices up to this key have the broadcast.
    after text NOT NULL DEFAULT '',
    owner uuid,
    leased_until timestamptz NOT NULL DEFAULT '-infinity',
    CONSTRAINT broadcast_relays_pkey PRIMARY KEY (partition, broadcast)
);
CREATE INDEX broadcast_relays_broadcast_idx ON push.broadcast_relays (broadcast);
CREATE INDEX broadcast_relays_partition_channel_broadcast_idx ON push.broadcast_relays (partition, channel, broadcast);

-- The devices that may listen to a channel: all subscribers, and some former ones. The states are exact. A row is
-- written before the registration of the device. It is deleted when the device refuses a broadcast.
CREATE TABLE push.subscriptions (
    -- The partition of the device.
    partition integer NOT NULL,
    app text NOT NULL,
    channel text NOT NULL,
    key text NOT NULL,
    touched_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    CONSTRAINT subscriptions_pkey PRIMARY KEY (partition, app, channel, key)
);

-- Broadcasts that a device could not take, because it is parked or an older broadcast of the channel waits for it. The
-- service submits each again until the device takes or refuses it, it expires, or the service gives up.
CREATE TABLE push.undelivered_broadcasts (
    -- The partition of the device.
    partition integer NOT NULL,
    key text NOT NULL,
    -- A device takes the broadcasts of a channel in order. Channels do not wait for each other.
    channel text NOT NULL,
    -- A row without its broadcast would block the channel forever.
    broadcast bigint NOT NULL CONSTRAINT undelivered_broadcasts_broadcast_fkey REFERENCES push.broadcasts,
    -- The result of the last try.
    reason text NOT NULL,
    -- The start of the wait, in real time and in suite time (milliseconds since 1970). The wait ends by the clock that
    -- is ahead.
    queued_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    queued_time bigint NOT NULL,
    retry_at timestamptz NOT NULL,
    CONSTRAINT undelivered_broadcasts_pkey PRIMARY KEY (partition, key, channel, broadcast)
);
CREATE INDEX undelivered_broadcasts_retry_at_idx ON push.undelivered_broadcasts (retry_at);
CREATE INDEX undelivered_broadcasts_broadcast_idx ON push.undelivered_broadcasts (broadcast);

-- Broadcasts that the service has given up for a device. Operators read them. The service deletes them after 30 days.
CREATE TABLE push.broadcast_dead_letters (
    -- The partition of the device.
    partition integer NOT NULL,
    key text NOT NULL,
    broadcast bigint NOT NULL,
    environment text NOT NULL,
    app text NOT NULL,
    channel text NOT NULL,
    -- `apns-request-id` of the provider's request.
    request_id uuid NOT NULL,
    -- The result of the last try.
    reason text NOT NULL,
    queued_at timestamptz NOT NULL,
    given_up_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    CONSTRAINT broadcast_dead_letters_pkey PRIMARY KEY (partition, key, broadcast)
);
CREATE INDEX broadcast_dead_letters_given_up_at_idx ON push.broadcast_dead_letters (given_up_at);
