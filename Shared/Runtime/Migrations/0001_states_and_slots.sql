-- The states of one service's machine. {{service}} is the schema of the service. It is quoted, because "fetch" is an SQL
-- keyword.
CREATE TABLE "{{service}}".states (
    partition integer NOT NULL,
    key text NOT NULL,
    state bytea COMPRESSION lz4 NOT NULL,
    machine_version integer NOT NULL,
    -- The offset of the last event of the fold.
    version bigint NOT NULL,
    event_count bigint NOT NULL,
    -- The suite time of the last decision in milliseconds since 1970.
    decided_at bigint NOT NULL,
    -- The deadline is a column of the state, so it is deleted together with the state.
    next_deadline bigint,
    CONSTRAINT states_pkey PRIMARY KEY (partition, key)
) WITH (fillfactor = 70);
-- Ends with the key, so that deadlines at the same time fire in a fixed order.
CREATE INDEX states_partition_next_deadline_key_idx ON "{{service}}".states (partition, next_deadline, key)
    WHERE next_deadline IS NOT NULL;

-- The slot reservations of the machine, in pages of a bitmap. The table stays empty if the machine reserves no slots.
CREATE TABLE "{{service}}".slot_pages (
    partition integer NOT NULL,
    -- The number of slots in a second. Each number has its own slots.
    slots_per_second integer NOT NULL,
    page bigint NOT NULL,
    -- The end of the page, in suite time in milliseconds since 1970.
    ends bigint NOT NULL,
    -- A set bit is a reserved slot.
    taken bytea NOT NULL,
    CONSTRAINT slot_pages_pkey PRIMARY KEY (partition, slots_per_second, page)
) WITH (fillfactor = 70);
