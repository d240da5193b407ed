-- The event log and its consumers. `partition` is the first column of each key of the large tables, and each statement
-- of the hot path names one partition.

-- Raises an error if a value is not the expected one. The last pipeline of a batch contains its COMMIT, so a statement
-- must fail before it. The function is immutable, because Citus allows no other one in an UPDATE or an INSERT … SELECT.
-- The planner evaluates a call with only constants early, so `actual` has a column or a subquery.
CREATE FUNCTION bus.expect(actual bigint, expected bigint, what text) RETURNS bigint
LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog AS $$
BEGIN
    IF actual IS DISTINCT FROM expected THEN
        RAISE EXCEPTION '% is %, not %', what, coalesce(actual::text, 'null'), coalesce(expected::text, 'null')
            USING ERRCODE = 'DM001';
    END IF;
    RETURN actual;
END $$;

-- One row with the settings that are fixed when the log is created.
CREATE TABLE bus.settings (
    only_row boolean PRIMARY KEY DEFAULT true CONSTRAINT settings_only_row_check CHECK (only_row),
    partitions integer NOT NULL CONSTRAINT settings_partitions_check CHECK (partitions BETWEEN 1 AND 1024),
    -- The names of the roles begin with it and an underscore, and end with the name of a service.
    role_prefix text NOT NULL
);

-- The head of each partition. An append takes its offsets from this row and keeps the row lock until the commit. So
-- offsets are dense, and events are committed in the order of their offsets.
CREATE TABLE bus.partitions (
    partition integer PRIMARY KEY,
    head bigint NOT NULL DEFAULT 0,
    -- The day of the newest event. It changes under the same lock, so a later offset never has an earlier day.
    day date NOT NULL DEFAULT '1970-01-01'
) WITH (fillfactor = 50);

CREATE TABLE bus.events (
    partition integer NOT NULL,
    log_offset bigint NOT NULL,
    -- The real day of the append.
    day date NOT NULL,
    id uuid NOT NULL,
    source text NOT NULL,
    type text NOT NULL,
    version integer NOT NULL,
    key text NOT NULL,
    app text,
    -- Suite time in milliseconds since 1970.
    time bigint NOT NULL,
    correlationid uuid NOT NULL,
    causationid uuid,
    traceparent text,
    -- The sender of the command, such as operator:alice. Null if another event or a deadline caused the event.
    actor text,
    -- json, not jsonb: PostgreSQL keeps the text byte for byte.
    data json NOT NULL,
    appended_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    CONSTRAINT events_pkey PRIMARY KEY (partition, log_offset, day)
) PARTITION BY RANGE (day);
CREATE INDEX events_partition_key_log_offset_idx ON bus.events (partition, key, log_offset);
CREATE INDEX events_partition_correlationid_idx ON bus.events (partition, correlationid);
-- Ids and times grow with the position in the table, so block ranges are enough. They add little to the cost of an
-- append.
CREATE INDEX events_id_idx ON bus.events USING brin (id) WITH (pages_per_range = 32, autosummarize = on);
CREATE INDEX events_time_idx ON bus.events USING brin (time) WITH (pages_per_range = 32, autosummarize = on);

-- Events of dead letters whose day was dropped. An operator can still replay them.
CREATE TABLE bus.kept_events (
    LIKE bus.events INCLUDING DEFAULTS INCLUDING STORAGE,
    CONSTRAINT kept_events_pkey PRIMARY KEY (partition, log_offset)
);

-- One row for each consumer and partition. Its row lock serialises the batches of the consumer on the partition.
CREATE TABLE bus.cursors (
    partition integer NOT NULL,
    consumer text NOT NULL,
    -- The consumer has read the events up to here.
    log_offset bigint NOT NULL DEFAULT 0,
    owner uuid,
    epoch bigint NOT NULL DEFAULT 0,
    lease_expires timestamptz NOT NULL DEFAULT '-infinity',
    -- When the lease was last acquired, renewed or released, in real time and in suite time. Null before the first
    -- time. Virtual time may have been changed since, so both are stored.
    served_at timestamptz,
    served_time bigint,
    -- The suite times between which no process of the consumer ran, until all affected devices have the outage.
    outage int8range,
    -- How often the lease was acquired from an owner that had not released it, since a batch last reached the head of
    -- the log. From 2 on, an input of this partition may have ended those owners. The next owner then tries inputs one
    -- at a time. A batch that commits before the head does not reset the counter, because deadlines fire at the head.
    attempts integer NOT NULL DEFAULT 0,
    -- The number of keys with dead letters.
    parked integer NOT NULL DEFAULT 0,
    -- The id of the last committed batch. It shows whether a commit without an answer succeeded.
    last_batch uuid,
    -- The version of the stored form in which batches write states. A newer program writes an older form while older
    -- programs run. 0 before the first migration of the service.
    state_form integer NOT NULL DEFAULT 0,
    -- No state of the partition has a newer form. Programs of an older version leave the partition to newer ones.
    newest_state integer NOT NULL DEFAULT 0,
    -- Counts the changes of state_form, and the batches that wrote a state in a newer form.
    form_changes bigint NOT NULL DEFAULT 0,
    CONSTRAINT cursors_pkey PRIMARY KEY (partition, consumer)
) WITH (fillfactor = 50);

-- The processes that share the partitions of a consumer. A member that does not renew its row is dead.
CREATE TABLE bus.members (
    consumer text NOT NULL,
    member uuid NOT NULL,
    -- The start of its life without a gap, in real time and in suite time.
    since timestamptz NOT NULL DEFAULT clock_timestamp(),
    since_time bigint NOT NULL,
    expires timestamptz NOT NULL,
    -- The version of the machine that the member runs. States are written in a form that all members can read.
    machine_version integer NOT NULL DEFAULT 0,
    -- False if the member has found a partition that only a newer program can read. It gets no share of the partitions.
    takes_partitions boolean NOT NULL DEFAULT true,
    CONSTRAINT members_pkey PRIMARY KEY (consumer, member)
);

-- Inputs that a consumer could not process. A key with a dead letter is parked: its later events become dead letters
-- too, in order, and its deadlines do not fire.
CREATE TABLE bus.dead_letters (
    partition integer NOT NULL,
    consumer text NOT NULL,
    key text NOT NULL,
    -- The offset of the event. 0 for a deadline, which comes before the events that wait for it.
    log_offset bigint NOT NULL,
    -- The suite time of the deadline in milliseconds since 1970.
    due bigint,
    -- The fault. Null for an event that only waits for an earlier dead letter.
    reason text,
    parked_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    CONSTRAINT dead_letters_pkey PRIMARY KEY (partition, consumer, key, log_offset),
    CONSTRAINT dead_letters_due_check CHECK ((log_offset = 0) = (due IS NOT NULL))
);

-- Attempts to process an input after an owner of the partition died. A row is written before an attempt and deleted after
-- it. An input with many attempts ends the processes that run it.
CREATE TABLE bus.input_attempts (
    partition integer NOT NULL,
    consumer text NOT NULL,
    input text NOT NULL,
    attempts integer NOT NULL DEFAULT 1,
    attempted_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    CONSTRAINT input_attempts_pkey PRIMARY KEY (partition, consumer, input)
);

-- Readers of all events that are not consumers. They make no decisions, and only retention waits for them.
CREATE TABLE bus.readers (
    partition integer NOT NULL,
    reader text NOT NULL,
    -- The reader has read the events up to here.
    log_offset bigint NOT NULL DEFAULT 0,
    CONSTRAINT readers_pkey PRIMARY KEY (partition, reader)
) WITH (fillfactor = 50);

CREATE TABLE bus.idempotency (
    partition integer NOT NULL,
    service text NOT NULL,
    key text NOT NULL,
    fingerprint bytea NOT NULL,
    -- Empty until the service has answered the request.
    answer bytea NOT NULL,
    -- The progress of a request that needs several transactions. Null after the answer.
    progress bigint,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    CONSTRAINT idempotency_pkey PRIMARY KEY (partition, service, key)
);
CREATE INDEX idempotency_partition_service_created_at_idx ON bus.idempotency (partition, service, created_at);

-- The version that a service's stored states must reach, and the version that all of them have. Retention waits while
-- they differ, because an upgrade may need all events of a state.
CREATE TABLE bus.state_versions (
    partition integer NOT NULL,
    service text NOT NULL,
    wanted integer NOT NULL,
    reached integer NOT NULL,
    CONSTRAINT state_versions_pkey PRIMARY KEY (partition, service)
);

-- The last dropped offset of each partition. A partition without dropped events has no row.
CREATE TABLE bus.retention (
    partition integer NOT NULL,
    -- Events up to here are dropped, or will be dropped in a moment.
    dropped_to bigint NOT NULL,
    CONSTRAINT retention_pkey PRIMARY KEY (partition)
);

-- States as they were soon after the end of each day on which they changed. A fold starts at a snapshot after retention
-- has dropped the older events. Snapshots are taken daily. A snapshot at the time of the drop would be newer than all
-- events that the log still has.
CREATE TABLE bus.snapshots (
    partition integer NOT NULL,
    key text NOT NULL,
    service text NOT NULL,
    -- The state is the fold of the service's events with this key up to here.
    log_offset bigint NOT NULL,
    machine_version integer NOT NULL,
    state bytea COMPRESSION lz4 NOT NULL,
    event_count bigint NOT NULL,
    decided_at bigint NOT NULL,
    -- Whether events of the fold were dropped, so that there is no earlier state.
    is_base boolean NOT NULL DEFAULT false,
    taken_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    CONSTRAINT snapshots_pkey PRIMARY KEY (partition, key, service, log_offset)
);

-- The days whose snapshots exist.
CREATE TABLE bus.snapshot_days (
    partition integer NOT NULL,
    service text NOT NULL,
    day date NOT NULL,
    CONSTRAINT snapshot_days_pkey PRIMARY KEY (partition, service, day)
);

-- The keys that sign the tokens of devices and fleets. All services read the public keys. Only the issuer reads its
-- private keys.
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

-- Devices with revoked tokens. A token is void if it was issued before this position of the log. The same facts are
-- events, but the rows outlive the retention of the log. Only the issuer of tokens writes them.
CREATE TABLE bus.revocations (
    partition integer NOT NULL,
    key text NOT NULL,
    log_offset bigint NOT NULL,
    -- Real time. The row is useless after all tokens of that time have expired.
    revoked_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    CONSTRAINT revocations_pkey PRIMARY KEY (partition, key)
);
-- Fleets with revoked tokens. A token of a fleet is void if its generation is less than this one. Only the issuer of
-- tokens writes the rows.
CREATE TABLE bus.fleet_revocations (
    fleet text PRIMARY KEY,
    generation bigint NOT NULL
);
-- The events up to here are in bus.revocations. Later revocations are only in the log.
CREATE TABLE bus.revocation_positions (
    partition integer NOT NULL,
    log_offset bigint NOT NULL,
    CONSTRAINT revocation_positions_pkey PRIMARY KEY (partition)
);

-- One row with the suite's clock. Only bus.set_clock and bus.step_clock change it while time is virtual. They lock the
-- row, so time never goes back. They announce each change as `clock` on the wake-up channel.
CREATE TABLE bus.clock (
    only_row boolean PRIMARY KEY DEFAULT true CONSTRAINT clock_only_row_check CHECK (only_row),
    is_virtual boolean NOT NULL DEFAULT false,
    real_epoch bigint NOT NULL DEFAULT 0,
    virtual_epoch bigint NOT NULL DEFAULT 0,
    rate double precision NOT NULL DEFAULT 1 CONSTRAINT clock_rate_check CHECK (rate >= 0 AND rate <= 100000),
    -- The rate with which a frozen clock continues. It equals `rate` while the clock runs.
    resumes_at double precision NOT NULL DEFAULT 1
        CONSTRAINT clock_resumes_at_check CHECK (resumes_at > 0 AND resumes_at <= 100000)
);
INSERT INTO bus.clock DEFAULT VALUES;

-- Row policies let a role write only the rows of its own service, whose name ends the name of the role.
ALTER TABLE bus.events ENABLE ROW LEVEL SECURITY;
CREATE POLICY events_read ON bus.events FOR SELECT USING (true);
CREATE POLICY events_append ON bus.events FOR INSERT WITH CHECK (right(current_user, length(source) + 1) = '_' || source);
ALTER TABLE bus.cursors ENABLE ROW LEVEL SECURITY;
CREATE POLICY cursors_read ON bus.cursors FOR SELECT USING (true);
CREATE POLICY cursors_write ON bus.cursors FOR UPDATE USING (right(current_user, length(consumer) + 1) = '_' || consumer);
ALTER TABLE bus.members ENABLE ROW LEVEL SECURITY;
CREATE POLICY members_read ON bus.members FOR SELECT USING (true);
CREATE POLICY members_own ON bus.members
    USING (right(current_user, length(consumer) + 1) = '_' || consumer) WITH CHECK (right(current_user, length(consumer) + 1) = '_' || consumer);
ALTER TABLE bus.dead_letters ENABLE ROW LEVEL SECURITY;
CREATE POLICY dead_letters_read ON bus.dead_letters FOR SELECT USING (true);
CREATE POLICY dead_letters_own ON bus.dead_letters
    USING (right(current_user, length(consumer) + 1) = '_' || consumer) WITH CHECK (right(current_user, length(consumer) + 1) = '_' || consumer);
ALTER TABLE bus.input_attempts ENABLE ROW LEVEL SECURITY;
CREATE POLICY input_attempts_own ON bus.input_attempts
    USING (right(current_user, length(consumer) + 1) = '_' || consumer) WITH CHECK (right(current_user, length(consumer) + 1) = '_' || consumer);
ALTER TABLE bus.idempotency ENABLE ROW LEVEL SECURITY;
CREATE POLICY idempotency_own ON bus.idempotency
    USING (right(current_user, length(service) + 1) = '_' || service) WITH CHECK (right(current_user, length(service) + 1) = '_' || service);
ALTER TABLE bus.state_versions ENABLE ROW LEVEL SECURITY;
CREATE POLICY state_versions_read ON bus.state_versions FOR SELECT USING (true);
CREATE POLICY state_versions_own ON bus.state_versions FOR UPDATE USING (right(current_user, length(service) + 1) = '_' || service);
ALTER TABLE bus.snapshots ENABLE ROW LEVEL SECURITY;
CREATE POLICY snapshots_read ON bus.snapshots FOR SELECT
    USING (right(current_user, length(service) + 1) = '_' || service OR right(current_user, 4) = '_ops');
ALTER TABLE bus.token_keys ENABLE ROW LEVEL SECURITY;
CREATE POLICY token_keys_read ON bus.token_keys FOR SELECT USING (true);
CREATE POLICY token_keys_write ON bus.token_keys FOR INSERT WITH CHECK (right(current_user, length(issuer) + 1) = '_' || issuer);
CREATE POLICY token_keys_delete ON bus.token_keys FOR DELETE USING (right(current_user, length(issuer) + 1) = '_' || issuer);
ALTER TABLE bus.signing_keys ENABLE ROW LEVEL SECURITY;
CREATE POLICY signing_keys_own ON bus.signing_keys
    USING (right(current_user, length(issuer) + 1) = '_' || issuer) WITH CHECK (right(current_user, length(issuer) + 1) = '_' || issuer);

-- Creates the tables of yesterday, today and the next days if they are missing. Returns the number of new tables. It
-- runs with the rights of its owner, because services may not create tables.
CREATE FUNCTION bus.ensure_days(ahead integer) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog AS $$
DECLARE
    new_day date;
    created integer := 0;
BEGIN
    PERFORM pg_advisory_xact_lock(hashtext('dormouse.days'));
    FOR new_day IN SELECT current_date + n FROM generate_series(-1, least(greatest(ahead, 1), 30)) AS n LOOP
        IF to_regclass(format('bus.%I', 'events_' || to_char(new_day, 'YYYYMMDD'))) IS NULL THEN
            -- ATTACH PARTITION takes a weaker lock than CREATE TABLE … PARTITION OF: reads and appends continue.
            EXECUTE format('CREATE TABLE bus.%I (LIKE bus.events INCLUDING DEFAULTS INCLUDING STORAGE)',
                'events_' || to_char(new_day, 'YYYYMMDD'));
            EXECUTE format('ALTER TABLE bus.events ATTACH PARTITION bus.%I FOR VALUES FROM (%L) TO (%L)',
                'events_' || to_char(new_day, 'YYYYMMDD'), new_day, new_day + 1);
            created := created + 1;
        END IF;
    END LOOP;
    RETURN created;
END $$;
REVOKE ALL ON FUNCTION bus.ensure_days(integer) FROM PUBLIC;

-- Returns the tables of days, attached or left by an interrupted drop.
CREATE FUNCTION bus.days() RETURNS TABLE (day date, name text, is_attached boolean, is_detaching boolean)
LANGUAGE sql STABLE SET search_path = pg_catalog AS $$
    SELECT to_date(right(c.relname, 8), 'YYYYMMDD'), c.relname::text, i.inhrelid IS NOT NULL,
        coalesce(i.inhdetachpending, false)
    FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace LEFT JOIN pg_inherits AS i ON i.inhrelid = c.oid
    WHERE n.nspname = 'bus' AND c.relkind = 'r' AND c.relname ~ '^events_[0-9]{8}$'
    ORDER BY c.relname
$$;

-- Returns the number of consecutive days after today that have a table.
CREATE FUNCTION bus.days_ahead() RETURNS integer LANGUAGE sql STABLE SET search_path = pg_catalog AS $$
    SELECT count(*)::integer FROM (
        SELECT d.day, row_number() OVER (ORDER BY d.day) AS n FROM bus.days() AS d
        WHERE d.is_attached AND NOT d.is_detaching AND d.day > current_date) AS ahead
    WHERE ahead.day = current_date + ahead.n::integer
$$;

-- Returns the consumers and readers that have not read a day to its end, and the services that still upgrade states.
-- Dead letters do not count, because bus.keep_events copies their events.
CREATE FUNCTION bus.day_readers(log_day date) RETURNS SETOF text
LANGUAGE plpgsql STABLE SET search_path = pg_catalog AS $$
BEGIN
    RETURN QUERY
    WITH ends AS MATERIALIZED (
        SELECT p.partition,
            (SELECT max(e.log_offset) FROM bus.events AS e WHERE e.partition = p.partition AND e.day = log_day) AS last
        FROM bus.partitions AS p
    )
    SELECT c.consumer FROM bus.cursors AS c JOIN ends AS e USING (partition) WHERE c.log_offset < e.last
    UNION
    SELECT 'revocations' FROM bus.revocation_positions AS r JOIN ends AS e USING (partition) WHERE r.log_offset < e.last
    UNION
    SELECT r.reader FROM bus.readers AS r JOIN ends AS e USING (partition) WHERE r.log_offset < e.last
    UNION
    SELECT v.service FROM bus.state_versions AS v WHERE v.reached < v.wanted
    ORDER BY 1;
END $$;

-- Returns the attached days with events.
CREATE FUNCTION bus.used_days() RETURNS SETOF date LANGUAGE plpgsql STABLE SET search_path = pg_catalog AS $$
DECLARE
    log_day date;
BEGIN
    FOR log_day IN SELECT d.day FROM bus.days() AS d WHERE d.is_attached AND NOT d.is_detaching LOOP
        IF EXISTS (SELECT 1 FROM bus.events AS e WHERE e.day = log_day) THEN RETURN NEXT log_day; END IF;
    END LOOP;
END $$;

-- Returns the day from which retention counts ages. Null if the log is empty. It is the newest day with events, so a
-- fast clock alone drops nothing. If this day is more than the retention after the previous one, the clock may have been
-- wrong at the append. The day before the gap is then the reference, until three days with events follow the gap.
CREATE FUNCTION bus.reference_day(retention_days integer) RETURNS date LANGUAGE sql STABLE SET search_path = pg_catalog AS $$
    WITH used AS (
        SELECT d AS day, lag(d) OVER (ORDER BY d) AS previous, row_number() OVER (ORDER BY d DESC) AS rank
        FROM bus.used_days() AS d
    )
    SELECT coalesce((SELECT min(u.previous) FROM used AS u WHERE u.day - u.previous > retention_days AND u.rank < 3),
        (SELECT max(u.day) FROM used AS u))
$$;

-- Copies the events of one day and partition that have dead letters. It runs before the day is dropped.
CREATE FUNCTION bus.keep_events(partition_number integer, log_day date) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog AS $$
BEGIN
    INSERT INTO bus.kept_events (partition, log_offset, day, id, source, type, version, key, app, time, correlationid,
        causationid, traceparent, actor, data, appended_at)
    SELECT e.partition, e.log_offset, e.day, e.id, e.source, e.type, e.version, e.key, e.app, e.time, e.correlationid,
        e.causationid, e.traceparent, e.actor, e.data, e.appended_at
    FROM bus.events AS e
    WHERE e.partition = partition_number AND e.day = log_day
        AND e.log_offset IN (SELECT d.log_offset FROM bus.dead_letters AS d WHERE d.partition = partition_number)
    ON CONFLICT DO NOTHING;
END $$;
REVOKE ALL ON FUNCTION bus.keep_events(integer, date) FROM PUBLIC;

-- Takes snapshots of the states of one service and partition that changed on a day. It skips a state with a snapshot
-- that is at least as new as its last event of the day.
CREATE FUNCTION bus.take_snapshots(partition_number integer, log_day date, service text) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog AS $$
BEGIN
    EXECUTE format(
        'INSERT INTO bus.snapshots
            (partition, key, service, log_offset, machine_version, state, event_count, decided_at)
        SELECT s.partition, s.key, $3, s.version, s.machine_version, s.state, s.event_count, s.decided_at
        FROM (
            SELECT e.key, max(e.log_offset) AS last FROM bus.events AS e
            WHERE e.partition = $1 AND e.day = $2 AND e.source = $3 GROUP BY e.key) AS changed
        JOIN %I.states AS s ON s.partition = $1 AND s.key = changed.key
        WHERE NOT EXISTS (
            SELECT FROM bus.snapshots AS b WHERE b.partition = $1 AND b.key = s.key AND b.service = $3
                AND b.log_offset >= changed.last)',
        service) USING partition_number, log_day, service;
    INSERT INTO bus.snapshot_days (partition, service, day) VALUES (partition_number, service, log_day) ON CONFLICT DO NOTHING;
END $$;
REVOKE ALL ON FUNCTION bus.take_snapshots(integer, date, text) FROM PUBLIC;

-- Prepares the drop of a day. For each key that changed on the day, the oldest snapshot that is not older than the last
-- event of the day becomes the base. Older snapshots are deleted.
CREATE FUNCTION bus.make_bases(partition_number integer, log_day date, service text) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog AS $$
BEGIN
    PERFORM bus.take_snapshots(partition_number, log_day, service);
    WITH changed AS (
        SELECT e.key, max(e.log_offset) AS last FROM bus.events AS e
        WHERE e.partition = partition_number AND e.day = log_day AND e.source = make_bases.service GROUP BY e.key
    ), base AS (
        SELECT b.key, min(b.log_offset) AS log_offset FROM changed
        JOIN bus.snapshots AS b ON b.partition = partition_number AND b.key = changed.key AND b.service = make_bases.service
            AND b.log_offset >= changed.last
        GROUP BY b.key
    ), older AS (
        DELETE FROM bus.snapshots AS b USING base
        WHERE b.partition = partition_number AND b.key = base.key AND b.service = make_bases.service
            AND b.log_offset < base.log_offset
    )
    UPDATE bus.snapshots AS b SET is_base = true FROM base
    WHERE b.partition = partition_number AND b.key = base.key AND b.service = make_bases.service
        AND b.log_offset = base.log_offset;
    DELETE FROM bus.snapshot_days AS d
    WHERE d.partition = partition_number AND d.day <= log_day AND d.service = make_bases.service;
END $$;
REVOKE ALL ON FUNCTION bus.make_bases(integer, date, text) FROM PUBLIC;

CREATE FUNCTION bus.real_now() RETURNS bigint LANGUAGE sql VOLATILE
RETURN floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint;

-- Returns the suite time at a real time, both in milliseconds since 1970. The services use the same arithmetic.
CREATE FUNCTION bus.suite_time(real_time bigint) RETURNS bigint LANGUAGE sql STABLE
RETURN (
    SELECT CASE WHEN is_virtual THEN virtual_epoch + floor(greatest(0, real_time - real_epoch) * rate)::bigint
        ELSE real_time END
    FROM bus.clock);

-- Sets the rate, and whether the clock is frozen. A null rate keeps the current one. Returns false if time is real.
CREATE FUNCTION bus.set_clock(new_rate double precision, frozen boolean) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog AS $$
DECLARE
    instant bigint;
BEGIN
    PERFORM FROM bus.clock WHERE is_virtual FOR UPDATE;
    IF NOT FOUND THEN RETURN false; END IF;
    -- Read once, after the lock: the old setting ends when the new one begins.
    instant := bus.real_now();
    UPDATE bus.clock SET virtual_epoch = bus.suite_time(instant), real_epoch = greatest(real_epoch, instant),
        resumes_at = coalesce(new_rate, resumes_at),
        rate = CASE WHEN frozen THEN 0 ELSE coalesce(new_rate, resumes_at) END;
    PERFORM pg_notify('dormouse', 'clock');
    RETURN true;
END $$;
REVOKE ALL ON FUNCTION bus.set_clock(double precision, boolean) FROM PUBLIC;

-- Moves the clock forward to a suite time. An earlier time changes nothing. Returns the suite time after the step; null
-- if time is real.
CREATE FUNCTION bus.step_clock(until bigint) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog AS $$
DECLARE
    instant bigint;
    reached bigint;
BEGIN
    PERFORM FROM bus.clock WHERE is_virtual FOR UPDATE;
    IF NOT FOUND THEN RETURN NULL; END IF;
    instant := bus.real_now();
    reached := bus.suite_time(instant);
    IF until <= reached THEN RETURN reached; END IF;
    UPDATE bus.clock SET virtual_epoch = until, real_epoch = greatest(real_epoch, instant);
    PERFORM pg_notify('dormouse', 'clock');
    RETURN until;
END $$;
REVOKE ALL ON FUNCTION bus.step_clock(bigint) FROM PUBLIC;

-- Returns the registered consumers that have states: the services with a machine.
CREATE FUNCTION bus.services() RETURNS SETOF text LANGUAGE sql STABLE SET search_path = pg_catalog AS $$
    SELECT DISTINCT c.consumer FROM bus.cursors AS c WHERE to_regclass(format('%I.states', c.consumer)) IS NOT NULL
$$;

-- Returns the earliest deadline of each service that has one. It is the only part of states that the role of `ops` can
-- read. Deadlines of parked keys do not fire, so they do not count.
CREATE FUNCTION bus.deadlines() RETURNS TABLE (service text, deadline bigint)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog AS $$
BEGIN
    FOR service IN SELECT s FROM bus.services() AS s ORDER BY s LOOP
        -- The index begins with the partition, so the query reads the earliest deadline of each partition.
        EXECUTE format(
            'SELECT min(s.next_deadline) FROM bus.partitions AS p, LATERAL (
                SELECT s.next_deadline FROM %I.states AS s
                WHERE s.partition = p.partition AND s.next_deadline IS NOT NULL AND NOT EXISTS (
                    SELECT FROM bus.dead_letters AS d
                    WHERE d.partition = p.partition AND d.consumer = $1 AND d.key = s.key)
                ORDER BY s.next_deadline LIMIT 1) AS s',
            service) INTO deadline USING service;
        IF deadline IS NOT NULL THEN RETURN NEXT; END IF;
    END LOOP;
END $$;
REVOKE ALL ON FUNCTION bus.deadlines() FROM PUBLIC;

-- Returns the start of the first living member of a consumer, in real time and in suite time; the current time if none
-- lives. An outage ends there, because every member accepts commands.
CREATE FUNCTION bus.living_since(consumer_name text) RETURNS TABLE (since timestamptz, since_time bigint)
LANGUAGE sql VOLATILE SET search_path = pg_catalog AS $$
    SELECT coalesce(min(m.since), clock_timestamp()), coalesce(min(m.since_time), bus.suite_time(bus.real_now()))
    FROM bus.members AS m WHERE m.consumer = consumer_name
        -- A member renews its row every 700 ms, for 3 s. A member without a renewal for 1.5 s may be dead. A row that
        -- expires later than any current clock can set comes from a server with a faster clock, before a failover.
        AND m.expires BETWEEN clock_timestamp() + interval '1.5 seconds' AND clock_timestamp() + interval '6 seconds'
$$;

-- Returns the suite times between which no process of a consumer ran: from the last renewal of a lease to the start of the
-- first living member. Null if a member has lived since the renewal. Null also for a gap of at most 1 s, which is more than
-- the time between two renewals.
CREATE FUNCTION bus.outage_between(served_at timestamptz, served_time bigint, since timestamptz, since_time bigint)
RETURNS int8range LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN since - served_at > interval '1 second' AND since_time > served_time
    THEN int8range(served_time, since_time) END;

-- Ends idle sessions that block the log, and releases their locks.
--
-- The server does not end them: idle_in_transaction_session_timeout and statement_timeout do not run while it waits for
-- the rest of a pipeline, and transaction_timeout needs version 17. So a client that stops in the middle of a pipeline
-- blocks the head of its partition for all services, until a waiting service calls this function.
--
-- It ends only sessions of the suite's own roles, and of those only a session that
--   - blocks another session now, at a row or a table of the log,
--   - does not wait for a lock itself,
--   - has been idle for the given number of seconds, at least one. A working session gets three times as long: it may
--     be slow, but after this time its client has given up.
--
-- Returns a row for each of them. `ended` is false if the function's owner lacks the rights of the session's role.
CREATE FUNCTION bus.end_blockers(idle_seconds double precision) RETURNS TABLE (pid integer, role text, ended boolean)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog AS $$
DECLARE
    blocker record;
BEGIN
    IF NOT (pg_has_role('pg_read_all_stats', 'USAGE') AND pg_has_role('pg_signal_backend', 'USAGE')) THEN
        RAISE insufficient_privilege USING
            MESSAGE = format('%I can''t end sessions that block the log', current_user),
            HINT = format('GRANT pg_read_all_stats, pg_signal_backend TO %I', current_user);
    END IF;
    FOR blocker IN
        SELECT DISTINCT b.pid, b.usename::text AS role
        FROM pg_stat_activity AS w, unnest(pg_blocking_pids(w.pid)) AS blocking (pid), pg_stat_activity AS b
        WHERE w.datname = current_database() AND w.wait_event_type = 'Lock' AND EXISTS (
                SELECT FROM pg_locks AS l JOIN pg_class AS c ON c.oid = l.relation
                WHERE l.pid = w.pid AND c.relnamespace = 'bus'::regnamespace
                    -- A session that waits for a row holds the row's lock, or waits for that lock.
                    AND (l.locktype = 'tuple' OR NOT l.granted))
            AND b.pid = blocking.pid AND b.datname = current_database() AND b.usename ^@ (SELECT s.role_prefix || '_' FROM bus.settings AS s)
            AND b.wait_event_type IS DISTINCT FROM 'Lock'
            AND b.state_change < clock_timestamp()
                - make_interval(secs => greatest(idle_seconds, 1) * CASE WHEN b.wait_event_type = 'Client' THEN 1 ELSE 3 END)
        ORDER BY 1
    LOOP
        pid := blocker.pid;
        role := blocker.role;
        BEGIN
            ended := pg_terminate_backend(blocker.pid);
        EXCEPTION WHEN insufficient_privilege THEN
            ended := false;
        END;
        RETURN NEXT;
    END LOOP;
END $$;
REVOKE ALL ON FUNCTION bus.end_blockers(double precision) FROM PUBLIC;
