-- The states of one service's machine; {{service}} is its schema, quoted: "fetch" is a word of SQL.
CREATE TABLE "{{service}}".states (
    partition integer NOT NULL,
    key text NOT NULL,
    state bytea COMPRESSION lz4 NOT NULL,
    machine_version integer NOT NULL,
    -- The partition offset of the last event that the state is the fold of.
    version bigint NOT NULL,
    event_count bigint NOT NULL,
    -- The moment of the last decision, by the suite's clock, milliseconds since 1970.
    decided_at bigint NOT NULL,
    -- A timer can't exist without its state or survive it.
    next_deadline bigint,
    CONSTRAINT states_one PRIMARY KEY (partition, key)
) WITH (fillfactor = 70);
-- With the key, so that deadlines of one moment come in the same order always.
CREATE INDEX states_deadline ON "{{service}}".states (partition, next_deadline, key) WHERE next_deadline IS NOT NULL;
