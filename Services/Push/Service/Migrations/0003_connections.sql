-- The processes that hold connections of devices. One that does not renew its lease is dead, by the clock of this database.
CREATE TABLE push.holders (
    holder uuid NOT NULL,
    expires_at timestamptz NOT NULL,
    -- Until then somebody ends the connections of a dead one, and others leave that alone.
    swept_until timestamptz NOT NULL DEFAULT '-infinity',
    CONSTRAINT holders_one PRIMARY KEY (holder)
);

-- Every connection that is held. Its row is there before it begins and until it has ended, so there may be more rows than
-- connections, never less.
CREATE TABLE push.connections (
    partition integer NOT NULL,
    key text NOT NULL,
    connection uuid NOT NULL,
    holder uuid NOT NULL CONSTRAINT connections_held REFERENCES push.holders,
    CONSTRAINT connections_one PRIMARY KEY (partition, key, connection)
);
CREATE INDEX connections_holder ON push.connections (holder, connection);
