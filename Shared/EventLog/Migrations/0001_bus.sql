-- The event log: partitioned like a log of the Kafka family. Every table has `partition` first in its key, and every
-- statement of the hot path names exactly one, so that the tables can be distributed by it.

-- One row: what is fixed when the log is created.
CREATE TABLE bus.settings (
    only_row boolean PRIMARY KEY DEFAULT true CONSTRAINT settings_one_row CHECK (only_row),
    partitions integer NOT NULL CONSTRAINT settings_partitions CHECK (partitions BETWEEN 1 AND 1024)
);

-- A guard that raises: a batch's last flight carries its COMMIT, so whatever does not match must fail before it. Volatile, so
-- that no planner runs it where it was not reached.
CREATE FUNCTION bus.expect(actual bigint, expected bigint, what text) RETURNS bigint
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog AS $$
BEGIN
    IF actual IS DISTINCT FROM expected THEN
        RAISE EXCEPTION '% is %, not %', what, coalesce(actual::text, 'null'), coalesce(expected::text, 'null')
            USING ERRCODE = 'DM001';
    END IF;
    RETURN actual;
END $$;

-- The head of each partition. Appending takes offsets from it under its row lock, held to the commit: commit order is offset
-- order, so a reader never skips an event, and offsets are dense.
CREATE TABLE bus.partitions (
    partition integer PRIMARY KEY,
    head bigint NOT NULL DEFAULT 0,
    -- The day of the newest event. Set under the same lock, so it never goes back along the offsets.
    day date NOT NULL DEFAULT '1970-01-01'
) WITH (fillfactor = 50);

CREATE TABLE bus.events (
    partition integer NOT NULL,
    log_offset bigint NOT NULL,
    day date NOT NULL,
    id uuid NOT NULL,
    source text NOT NULL,
    type text NOT NULL,
    version integer NOT NULL,
    key text NOT NULL,
    app text,
    -- By the suite's clock, milliseconds since 1970.
    time bigint NOT NULL,
    correlationid uuid NOT NULL,
    causationid uuid,
    traceparent text,
    -- json, not jsonb: the text is kept byte for byte.
    data json NOT NULL,
    appended_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    CONSTRAINT events_place PRIMARY KEY (partition, log_offset, day)
) PARTITION BY RANGE (day);
CREATE INDEX events_key ON bus.events (partition, key, log_offset);
CREATE INDEX events_correlation ON bus.events (partition, correlationid);

-- One row for each consumer and partition. Its lock serialises every batch of that consumer on that partition.
CREATE TABLE bus.cursors (
    partition integer NOT NULL,
    consumer text NOT NULL,
    -- Everything up to here was taken in.
    log_offset bigint NOT NULL DEFAULT 0,
    owner uuid,
    epoch bigint NOT NULL DEFAULT 0,
    lease_expires timestamptz NOT NULL DEFAULT '-infinity',
    -- When the lease was taken, renewed or given back last: up to here somebody served the partition. Null before the first
    -- time. With the same moment by the suite's clock, which may have been set otherwise since.
    served_at timestamptz,
    served_time bigint,
    -- The times by the suite's clock, as one, in which nobody reached the consumer, until all that it concerns was told.
    outage int8range,
    -- How often the lease was taken from an owner that had not let it go, since a batch last got to the head of the log. From
    -- 2 on, an input of this partition may be what ended those owners: it is looked for, one input at a time. (A batch that
    -- commits on the way to the head proves nothing: deadlines come only there.)
    attempts integer NOT NULL DEFAULT 0,
    -- How many keys have dead letters here.
    parked integer NOT NULL DEFAULT 0,
    -- The last batch that committed: tells the truth after a commit whose answer was lost.
    last_batch uuid,
    CONSTRAINT cursors_one PRIMARY KEY (partition, consumer)
) WITH (fillfactor = 50);

-- What a consumer has set aside. A key with a letter is parked: its later events join it in order, its deadlines don't fire.
CREATE TABLE bus.dead_letters (
    partition integer NOT NULL,
    consumer text NOT NULL,
    key text NOT NULL,
    -- The event's place in the log; 0 for a deadline, which comes before all that waits behind it.
    log_offset bigint NOT NULL,
    -- The moment of a deadline, by the suite's clock.
    due bigint,
    -- Why it was set aside; null for what only waits behind another.
    reason text,
    set_aside_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    CONSTRAINT dead_letters_one PRIMARY KEY (partition, consumer, key, log_offset),
    CONSTRAINT dead_letters_deadline CHECK ((log_offset = 0) = (due IS NOT NULL))
);

-- Inputs that are being tried one by one after an owner of the partition died. Noted before the trial, gone after it: an input
-- whose trials pile up is what ends the processes.
CREATE TABLE bus.suspects (
    partition integer NOT NULL,
    consumer text NOT NULL,
    input text NOT NULL,
    tries integer NOT NULL DEFAULT 1,
    tried_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    CONSTRAINT suspects_one PRIMARY KEY (partition, consumer, input)
);

-- The processes that share a consumer's partitions; a member that stops renewing is dead.
CREATE TABLE bus.members (
    consumer text NOT NULL,
    member uuid NOT NULL,
    -- Since when it has lived without a gap, with the same moment by the suite's clock.
    since timestamptz NOT NULL DEFAULT clock_timestamp(),
    since_time bigint NOT NULL,
    expires timestamptz NOT NULL,
    CONSTRAINT members_one PRIMARY KEY (consumer, member)
);

CREATE TABLE bus.idempotency (
    partition integer NOT NULL,
    service text NOT NULL,
    key text NOT NULL,
    fingerprint bytea NOT NULL,
    -- Empty while the request is under way.
    answer bytea NOT NULL,
    -- How far a request of several transactions has come, in its own terms; null once it is answered.
    progress bigint,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    CONSTRAINT idempotency_one PRIMARY KEY (partition, service, key)
);
CREATE INDEX idempotency_age ON bus.idempotency (partition, service, created_at);

-- One row: how the suite's time follows from real time.
CREATE TABLE bus.clock (
    only_row boolean PRIMARY KEY DEFAULT true CONSTRAINT clock_one_row CHECK (only_row),
    is_virtual boolean NOT NULL DEFAULT false,
    real_epoch bigint NOT NULL DEFAULT 0,
    virtual_epoch bigint NOT NULL DEFAULT 0,
    rate double precision NOT NULL DEFAULT 1 CONSTRAINT clock_rate CHECK (rate >= 0 AND rate <= 100000)
);
INSERT INTO bus.clock DEFAULT VALUES;

-- Keeps a table for each day ready. Runs with its owner's rights, so that services need none to create tables.
CREATE FUNCTION bus.ensure_days(ahead integer) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog AS $$
DECLARE
    wanted date;
    made integer := 0;
BEGIN
    PERFORM pg_advisory_xact_lock(hashtext('dormouse.days'));
    FOR wanted IN SELECT current_date + n FROM generate_series(-1, least(greatest(ahead, 1), 30)) AS n LOOP
        IF to_regclass(format('bus.%I', 'events_' || to_char(wanted, 'YYYYMMDD'))) IS NULL THEN
            -- Made apart and attached: that lets everybody else go on reading and appending.
            EXECUTE format('CREATE TABLE bus.%I (LIKE bus.events INCLUDING DEFAULTS INCLUDING STORAGE)',
                'events_' || to_char(wanted, 'YYYYMMDD'));
            EXECUTE format('ALTER TABLE bus.events ATTACH PARTITION bus.%I FOR VALUES FROM (%L) TO (%L)',
                'events_' || to_char(wanted, 'YYYYMMDD'), wanted, wanted + 1);
            made := made + 1;
        END IF;
    END LOOP;
    RETURN made;
END $$;
REVOKE ALL ON FUNCTION bus.ensure_days(integer) FROM PUBLIC;

-- Row policies bind what is written to the role that writes it.
ALTER TABLE bus.events ENABLE ROW LEVEL SECURITY;
CREATE POLICY events_read ON bus.events FOR SELECT USING (true);
CREATE POLICY events_append ON bus.events FOR INSERT WITH CHECK (current_user = 'dormouse_' || source);
ALTER TABLE bus.cursors ENABLE ROW LEVEL SECURITY;
CREATE POLICY cursors_read ON bus.cursors FOR SELECT USING (true);
CREATE POLICY cursors_write ON bus.cursors FOR UPDATE USING (current_user = 'dormouse_' || consumer);
ALTER TABLE bus.members ENABLE ROW LEVEL SECURITY;
CREATE POLICY members_read ON bus.members FOR SELECT USING (true);
CREATE POLICY members_own ON bus.members
    USING (current_user = 'dormouse_' || consumer) WITH CHECK (current_user = 'dormouse_' || consumer);
ALTER TABLE bus.idempotency ENABLE ROW LEVEL SECURITY;
CREATE POLICY idempotency_own ON bus.idempotency
    USING (current_user = 'dormouse_' || service) WITH CHECK (current_user = 'dormouse_' || service);
ALTER TABLE bus.dead_letters ENABLE ROW LEVEL SECURITY;
CREATE POLICY dead_letters_read ON bus.dead_letters FOR SELECT USING (true);
CREATE POLICY dead_letters_own ON bus.dead_letters
    USING (current_user = 'dormouse_' || consumer) WITH CHECK (current_user = 'dormouse_' || consumer);
ALTER TABLE bus.suspects ENABLE ROW LEVEL SECURITY;
CREATE POLICY suspects_own ON bus.suspects
    USING (current_user = 'dormouse_' || consumer) WITH CHECK (current_user = 'dormouse_' || consumer);

-- The keys that sign the tokens of devices and fleets: public ones for all, private ones for their issuer alone.
CREATE TABLE bus.token_keys (
    kid text PRIMARY KEY,
    issuer text NOT NULL,
    public_key text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE TABLE bus.signing_keys (
    kid text PRIMARY KEY,
    issuer text NOT NULL,
    private_key text NOT NULL
);
ALTER TABLE bus.token_keys ENABLE ROW LEVEL SECURITY;
CREATE POLICY token_keys_read ON bus.token_keys FOR SELECT USING (true);
CREATE POLICY token_keys_write ON bus.token_keys FOR INSERT WITH CHECK (current_user = 'dormouse_' || issuer);
ALTER TABLE bus.signing_keys ENABLE ROW LEVEL SECURITY;
CREATE POLICY signing_keys_own ON bus.signing_keys
    USING (current_user = 'dormouse_' || issuer) WITH CHECK (current_user = 'dormouse_' || issuer);

-- The devices whose tokens were voided: a token is void that was issued before this place of the log. The events say so too,
-- and come first; this outlives their retention, as tokens do. Written by the tokens' issuer alone, read by all.
CREATE TABLE bus.revocations (
    partition integer NOT NULL,
    key text NOT NULL,
    log_offset bigint NOT NULL,
    -- Real time: from when on no token of that age is left, the row is of no use.
    revoked_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    CONSTRAINT revocations_one PRIMARY KEY (partition, key)
);
-- How far the log was read for them; what comes behind is in the log alone.
CREATE TABLE bus.revocations_read (
    partition integer NOT NULL,
    log_offset bigint NOT NULL,
    CONSTRAINT revocations_read_one PRIMARY KEY (partition)
);
