-- The public keys that providers sign their tokens with.
CREATE TABLE push.provider_keys (
    -- Of the team's key, `team:<id>`.
    partition integer NOT NULL,
    team text NOT NULL,
    environment text NOT NULL
        CONSTRAINT provider_keys_environment CHECK (environment IN ('sandbox', 'production')),
    key_id text NOT NULL,
    public_key text NOT NULL,
    -- Empty: all topics of the team.
    topics text[] NOT NULL,
    -- A team has at most two keys for all its topics in each environment; keys of some topics have no slot.
    slot integer CONSTRAINT provider_keys_slot CHECK (slot BETWEEN 1 AND 2),
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    CONSTRAINT provider_keys_one PRIMARY KEY (partition, team, environment, key_id),
    CONSTRAINT provider_keys_two UNIQUE (partition, team, environment, slot),
    CONSTRAINT provider_keys_all_topics CHECK ((slot IS NULL) = (cardinality(topics) > 0))
);

-- Device tokens and notification ids lead to their device by a hash of its key. The cast reads backslashes as escapes;
-- identifiers have none.
CREATE INDEX states_locator ON push.states (partition, substr(sha256(key::bytea), 1, 14));
