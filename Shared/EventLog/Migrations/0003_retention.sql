-- Days come and go: what is kept of a day that is dropped, and what finds an event that is still there.

-- How far each partition was dropped; no row where nothing was.
CREATE TABLE bus.retention (
    partition integer NOT NULL,
    -- Everything up to here is gone, or about to be.
    dropped_to bigint NOT NULL,
    CONSTRAINT retention_one PRIMARY KEY (partition)
);

-- States as they were soon after the end of each day on which they changed: where folding a history begins once its older
-- part is gone. Taken daily and not when a day is dropped, weeks later: the state of that moment would lie after all that
-- is still in the log, and leave nothing to travel through.
CREATE TABLE bus.snapshots (
    partition integer NOT NULL,
    key text NOT NULL,
    service text NOT NULL,
    -- The state is the fold of the service's events of this key up to here.
    log_offset bigint NOT NULL,
    machine_version integer NOT NULL,
    state bytea COMPRESSION lz4 NOT NULL,
    event_count bigint NOT NULL,
    decided_at bigint NOT NULL,
    -- Whether events that it is the fold of were dropped: there is nothing before it.
    is_base boolean NOT NULL DEFAULT false,
    taken_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    CONSTRAINT snapshots_one PRIMARY KEY (partition, key, service, log_offset)
);
ALTER TABLE bus.snapshots ENABLE ROW LEVEL SECURITY;
CREATE POLICY snapshots_read ON bus.snapshots FOR SELECT
    USING (current_user IN ('dormouse_' || service, 'dormouse_ops'));

-- The days of which the snapshots were taken.
CREATE TABLE bus.snapshot_days (
    partition integer NOT NULL,
    service text NOT NULL,
    day date NOT NULL,
    CONSTRAINT snapshot_days_one PRIMARY KEY (partition, service, day)
);

-- Ids and times grow along with the place in the table: block ranges find both, and cost appends next to nothing.
CREATE INDEX events_id ON bus.events USING brin (id) WITH (pages_per_range = 32, autosummarize = on);
CREATE INDEX events_time ON bus.events USING brin (time) WITH (pages_per_range = 32, autosummarize = on);

-- Takes the snapshots of one service's states in one partition that changed on a day, where a snapshot as late as their
-- last event of the day is not there yet.
CREATE FUNCTION bus.take_snapshots(place integer, wanted date, service text) RETURNS void
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
        service) USING place, wanted, service;
    INSERT INTO bus.snapshot_days (partition, service, day) VALUES (place, service, wanted) ON CONFLICT DO NOTHING;
END $$;

-- Before a day is dropped: the oldest snapshot behind each history's last event of the day becomes its base, and what is
-- older goes.
CREATE FUNCTION bus.make_bases(place integer, wanted date, service text) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog AS $$
BEGIN
    PERFORM bus.take_snapshots(place, wanted, service);
    WITH changed AS (
        SELECT e.key, max(e.log_offset) AS last FROM bus.events AS e
        WHERE e.partition = place AND e.day = wanted AND e.source = make_bases.service GROUP BY e.key
    ), base AS (
        SELECT b.key, min(b.log_offset) AS log_offset FROM changed
        JOIN bus.snapshots AS b ON b.partition = place AND b.key = changed.key AND b.service = make_bases.service
            AND b.log_offset >= changed.last
        GROUP BY b.key
    ), older AS (
        DELETE FROM bus.snapshots AS b USING base
        WHERE b.partition = place AND b.key = base.key AND b.service = make_bases.service
            AND b.log_offset < base.log_offset
    )
    UPDATE bus.snapshots AS b SET is_base = true FROM base
    WHERE b.partition = place AND b.key = base.key AND b.service = make_bases.service
        AND b.log_offset = base.log_offset;
    DELETE FROM bus.snapshot_days AS d
    WHERE d.partition = place AND d.day <= wanted AND d.service = make_bases.service;
END $$;

-- The consumers that have not taken in a day to its end, or have set aside an event of it that an operator may replay.
CREATE FUNCTION bus.day_readers(wanted date) RETURNS SETOF text LANGUAGE sql STABLE SET search_path = pg_catalog AS $$
    SELECT DISTINCT c.consumer FROM bus.cursors AS c
    WHERE c.log_offset < (SELECT max(e.log_offset) FROM bus.events AS e WHERE e.partition = c.partition AND e.day = wanted)
    UNION
    SELECT d.consumer FROM bus.dead_letters AS d
    WHERE EXISTS (
        SELECT FROM bus.events AS e
        WHERE e.partition = d.partition AND e.log_offset = d.log_offset AND e.day = wanted)
    UNION
    SELECT 'revocations' FROM bus.revocations_read AS r
    WHERE r.log_offset < (SELECT max(e.log_offset) FROM bus.events AS e WHERE e.partition = r.partition AND e.day = wanted)
    ORDER BY 1
$$;

-- The tables of days: attached ones, and those that an interrupted drop left behind.
CREATE FUNCTION bus.days() RETURNS TABLE (day date, name text, is_attached boolean, is_detaching boolean)
LANGUAGE sql STABLE SET search_path = pg_catalog AS $$
    SELECT to_date(right(c.relname, 8), 'YYYYMMDD'), c.relname::text, i.inhrelid IS NOT NULL,
        coalesce(i.inhdetachpending, false)
    FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace LEFT JOIN pg_inherits AS i ON i.inhrelid = c.oid
    WHERE n.nspname = 'bus' AND c.relkind = 'r' AND c.relname ~ '^events_[0-9]{8}$'
    ORDER BY c.relname
$$;

-- For how many days after today events have a table.
CREATE FUNCTION bus.days_ahead() RETURNS integer LANGUAGE sql STABLE SET search_path = pg_catalog AS $$
    SELECT count(*)::integer FROM (
        SELECT d.day, row_number() OVER (ORDER BY d.day) AS n FROM bus.days() AS d
        WHERE d.is_attached AND NOT d.is_detaching AND d.day > current_date) AS ahead
    WHERE ahead.day = current_date + ahead.n::integer
$$;

REVOKE ALL ON FUNCTION bus.take_snapshots(integer, date, text) FROM PUBLIC;
REVOKE ALL ON FUNCTION bus.make_bases(integer, date, text) FROM PUBLIC;
