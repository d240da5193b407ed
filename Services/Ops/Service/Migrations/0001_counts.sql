-- What `ops` keeps of the log beside it: counts, and how devices and apps are now. All of it follows from the log alone, and is
-- taken in partition by partition, each batch in one transaction with the place that it leads to.

-- How many events there were in each minute, hour and day by the suite's clock.
CREATE TABLE ops.counts (
    partition integer NOT NULL,
    -- Seconds: 60, 3600 or 86400.
    width integer NOT NULL,
    -- Seconds since 1970, a multiple of the width.
    start bigint NOT NULL,
    type text NOT NULL,
    -- What distinguishes events of one type: see ops.label.
    label text NOT NULL,
    -- Of the log, by real time: its counts go when it is dropped.
    day date NOT NULL,
    events bigint NOT NULL,
    -- What the events tell of in numbers: see ops.amount.
    amount numeric NOT NULL,
    CONSTRAINT counts_one PRIMARY KEY (partition, width, start, type, label, day)
) WITH (fillfactor = 70);
CREATE INDEX counts_day ON ops.counts (day);
-- For the view of rates.
CREATE INDEX counts_time ON ops.counts (width, to_timestamp(start));

-- What each stretch of 512 offsets holds, so that a question that no index answers passes over those without an answer: offsets
-- 512 * stretch + 1 to 512 * stretch + 512, as far as they are taken in.
CREATE TABLE ops.outline (
    partition integer NOT NULL,
    stretch bigint NOT NULL,
    types text[] NOT NULL,
    sources text[] NOT NULL,
    -- By the suite's clock, milliseconds since 1970.
    earliest bigint NOT NULL,
    latest bigint NOT NULL,
    CONSTRAINT outline_one PRIMARY KEY (partition, stretch)
) WITH (fillfactor = 70);

CREATE TABLE ops.known_devices (
    partition integer NOT NULL,
    key text COLLATE "C" NOT NULL,
    profile text NOT NULL,
    fleet text,
    powered boolean NOT NULL DEFAULT true,
    -- By the suite's clock, milliseconds since 1970.
    registered_at bigint NOT NULL,
    CONSTRAINT known_devices_one PRIMARY KEY (partition, key)
);

CREATE TABLE ops.known_apps (
    partition integer NOT NULL,
    key text COLLATE "C" NOT NULL,
    app text NOT NULL,
    state text NOT NULL,
    -- Since when, by the suite's clock, milliseconds since 1970.
    since bigint NOT NULL,
    CONSTRAINT known_apps_one PRIMARY KEY (partition, key, app)
) WITH (fillfactor = 70);

-- How many of them there are: devices as 'devices', apps by their state.
CREATE TABLE ops.totals (
    partition integer NOT NULL,
    name text NOT NULL,
    total bigint NOT NULL,
    CONSTRAINT totals_one PRIMARY KEY (partition, name)
) WITH (fillfactor = 50);

CREATE FUNCTION ops.count_apps() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog AS $$
BEGIN
    -- The tables of the statement that it has not are not named by any branch that runs.
    IF TG_OP <> 'INSERT' THEN
        UPDATE ops.totals AS t SET total = t.total - o.n
        FROM (SELECT partition, state, count(*) AS n FROM old_rows GROUP BY partition, state) AS o
        WHERE t.partition = o.partition AND t.name = o.state;
    END IF;
    IF TG_OP <> 'DELETE' THEN
        INSERT INTO ops.totals AS t (partition, name, total)
        SELECT partition, state, count(*) FROM new_rows GROUP BY partition, state
        ON CONFLICT (partition, name) DO UPDATE SET total = t.total + excluded.total;
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER apps_added AFTER INSERT ON ops.known_apps REFERENCING NEW TABLE AS new_rows
    FOR EACH STATEMENT EXECUTE FUNCTION ops.count_apps();
CREATE TRIGGER apps_changed AFTER UPDATE ON ops.known_apps REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows
    FOR EACH STATEMENT EXECUTE FUNCTION ops.count_apps();
CREATE TRIGGER apps_gone AFTER DELETE ON ops.known_apps REFERENCING OLD TABLE AS old_rows
    FOR EACH STATEMENT EXECUTE FUNCTION ops.count_apps();

CREATE FUNCTION ops.count_devices() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog AS $$
BEGIN
    IF TG_OP = 'INSERT' THEN
        INSERT INTO ops.totals AS t (partition, name, total)
        SELECT partition, 'devices', count(*) FROM new_rows GROUP BY partition
        ON CONFLICT (partition, name) DO UPDATE SET total = t.total + excluded.total;
    ELSE
        UPDATE ops.totals AS t SET total = t.total - o.n
        FROM (SELECT partition, count(*) AS n FROM old_rows GROUP BY partition) AS o
        WHERE t.partition = o.partition AND t.name = 'devices';
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER devices_added AFTER INSERT ON ops.known_devices REFERENCING NEW TABLE AS new_rows
    FOR EACH STATEMENT EXECUTE FUNCTION ops.count_devices();
CREATE TRIGGER devices_gone AFTER DELETE ON ops.known_devices REFERENCING OLD TABLE AS old_rows
    FOR EACH STATEMENT EXECUTE FUNCTION ops.count_devices();

-- What distinguishes events of one type: why an app was woken, why it was not, how it ended ("reason code", where the system
-- killed it), how a notification stands, with what error a transfer ended. Empty for all others.
CREATE FUNCTION ops.label(type text, data json) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog AS $$
    SELECT coalesce(
        CASE
            WHEN type = 'lifecycle.app.woken' THEN data ->> 'reason'
            WHEN type = 'lifecycle.wake.refused' THEN data ->> 'refusal'
            WHEN type = 'lifecycle.app.terminated' THEN concat_ws(' ', data ->> 'reason', data ->> 'code')
            WHEN type = 'transfer.task.completed' THEN data #>> '{error,code}'
            WHEN type LIKE 'push.%' THEN data ->> 'status'
        END, '')
$$;

-- The bytes that a transfer moved since its last report; 0 for all other events.
CREATE FUNCTION ops.amount(type text, data json) RETURNS numeric LANGUAGE sql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog AS $$
    SELECT coalesce(
        CASE type
            WHEN 'transfer.progress.made' THEN (data ->> 'bytesWritten')::numeric
            WHEN 'transfer.body.sent' THEN (data ->> 'bytesSent')::numeric
        END, 0)
$$;

-- Takes in the next events of a partition: at most so many. Returns how many there were; 0 also where another process is at
-- it.
CREATE FUNCTION ops.take_in(place integer, most integer) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog AS $$
DECLARE
    after bigint;
    until bigint;
BEGIN
    SELECT r.log_offset INTO after FROM bus.readers AS r WHERE r.partition = place AND r.reader = 'ops' FOR UPDATE SKIP LOCKED;
    IF NOT FOUND THEN RETURN 0; END IF;
    -- What was dropped without being read is not coming back: a log that was restored without this schema.
    SELECT greatest(after, coalesce(max(r.dropped_to), 0)) INTO after FROM bus.retention AS r WHERE r.partition = place;
    SELECT least(p.head, after + least(greatest(most, 1), 50000)) INTO until FROM bus.partitions AS p WHERE p.partition = place;
    IF until <= after THEN RETURN 0; END IF;

    INSERT INTO ops.counts AS c (partition, width, start, type, label, day, events, amount)
    SELECT place, w.width, floor(b.minute * 60.0 / w.width)::bigint * w.width, b.type, b.label, b.day, sum(b.events), sum(b.amount)
    FROM (
        SELECT floor(e.time / 60000.0)::bigint AS minute, e.type, ops.label(e.type, e.data) AS label, e.day, count(*) AS events,
            sum(ops.amount(e.type, e.data)) AS amount
        FROM bus.events AS e WHERE e.partition = place AND e.log_offset > after AND e.log_offset <= until
        GROUP BY 1, 2, 3, 4) AS b
    CROSS JOIN (VALUES (60), (3600), (86400)) AS w (width)
    GROUP BY 2, 3, 4, 5, 6
    ON CONFLICT (partition, width, start, type, label, day) DO UPDATE
        SET events = c.events + excluded.events, amount = c.amount + excluded.amount;

    INSERT INTO ops.outline AS o (partition, stretch, types, sources, earliest, latest)
    SELECT place, (e.log_offset - 1) / 512, array_agg(DISTINCT e.type), array_agg(DISTINCT e.source), min(e.time), max(e.time)
    FROM bus.events AS e WHERE e.partition = place AND e.log_offset > after AND e.log_offset <= until
    GROUP BY 2
    ON CONFLICT (partition, stretch) DO UPDATE SET
        types = ARRAY(SELECT DISTINCT t FROM unnest(o.types || excluded.types) AS t),
        sources = ARRAY(SELECT DISTINCT s FROM unnest(o.sources || excluded.sources) AS s),
        earliest = least(o.earliest, excluded.earliest), latest = greatest(o.latest, excluded.latest);

    PERFORM ops.follow_devices(place, after, until);
    PERFORM ops.follow_apps(place, after, until);
    UPDATE bus.readers AS r SET log_offset = until WHERE r.partition = place AND r.reader = 'ops';
    RETURN until - after;
END $$;

CREATE FUNCTION ops.follow_devices(place integer, after bigint, until bigint) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog AS $$
BEGIN
    DELETE FROM ops.known_devices AS d
    USING bus.events AS e
    WHERE e.partition = place AND e.log_offset > after AND e.log_offset <= until AND e.type = 'lifecycle.device.deregistered'
        AND d.partition = place AND d.key = e.key;

    INSERT INTO ops.known_devices AS d (partition, key, profile, fleet, registered_at)
    SELECT DISTINCT ON (e.key) place, e.key, e.data #>> '{registration,profile}', e.data #>> '{registration,fleet}', e.time
    FROM bus.events AS e
    WHERE e.partition = place AND e.log_offset > after AND e.log_offset <= until
        AND e.type IN ('lifecycle.device.registered', 'lifecycle.device.updated')
        AND NOT EXISTS (
            SELECT FROM bus.events AS g
            WHERE g.partition = place AND g.key = e.key AND g.log_offset > e.log_offset AND g.log_offset <= until
                AND g.type = 'lifecycle.device.deregistered')
    ORDER BY e.key, e.log_offset DESC
    ON CONFLICT (partition, key) DO UPDATE SET profile = excluded.profile, fleet = excluded.fleet;

    UPDATE ops.known_devices AS d SET powered = p.powered
    FROM (
        SELECT DISTINCT ON (e.key) e.key, e.data ->> 'power' <> 'off' AS powered FROM bus.events AS e
        WHERE e.partition = place AND e.log_offset > after AND e.log_offset <= until AND e.type = 'lifecycle.device.powered'
        ORDER BY e.key, e.log_offset DESC) AS p
    WHERE d.partition = place AND d.key = p.key;
END $$;

CREATE FUNCTION ops.follow_apps(place integer, after bigint, until bigint) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog AS $$
BEGIN
    DELETE FROM ops.known_apps AS a
    USING bus.events AS e
    WHERE e.partition = place AND e.log_offset > after AND e.log_offset <= until
        AND e.type IN ('lifecycle.app.uninstalled', 'lifecycle.device.deregistered')
        AND a.partition = place AND a.key = e.key AND (e.app IS NULL OR a.app = e.app);

    -- Installing an app over itself leaves its state alone: what it changes has an event of its own.
    INSERT INTO ops.known_apps AS a (partition, key, app, state, since)
    SELECT DISTINCT ON (e.key, e.app) place, e.key, e.app, 'notRunning', e.time
    FROM bus.events AS e
    WHERE e.partition = place AND e.log_offset > after AND e.log_offset <= until AND e.type = 'lifecycle.app.installed'
        AND NOT EXISTS (
            SELECT FROM bus.events AS g
            WHERE g.partition = place AND g.key = e.key AND g.log_offset > e.log_offset AND g.log_offset <= until
                AND g.type IN ('lifecycle.app.uninstalled', 'lifecycle.device.deregistered')
                AND (g.app IS NULL OR g.app = e.app))
    ORDER BY e.key, e.app, e.log_offset
    ON CONFLICT (partition, key, app) DO NOTHING;

    UPDATE ops.known_apps AS a SET state = s.state, since = s.time
    FROM (
        SELECT DISTINCT ON (e.key, e.app) e.key, e.app, e.data ->> 'state' AS state, e.time, e.log_offset FROM bus.events AS e
        WHERE e.partition = place AND e.log_offset > after AND e.log_offset <= until AND e.type LIKE 'lifecycle.app.%'
            AND e.data ->> 'state' IS NOT NULL
        ORDER BY e.key, e.app, e.log_offset DESC) AS s
    WHERE a.partition = place AND a.key = s.key AND a.app = s.app AND s.state <> a.state
        -- A device that left and came back within the batch has other apps, whatever they are called.
        AND NOT EXISTS (
            SELECT FROM bus.events AS g
            WHERE g.partition = place AND g.log_offset > s.log_offset AND g.log_offset <= until AND g.key = s.key
                AND g.type IN ('lifecycle.app.uninstalled', 'lifecycle.device.deregistered')
                AND (g.app IS NULL OR g.app = s.app));
END $$;

-- Forgets the counts of days that the log does not have any more, and what it held in them. Returns how many counts those were.
CREATE FUNCTION ops.forget_days() RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog AS $$
DECLARE
    gone bigint;
BEGIN
    DELETE FROM ops.counts AS c WHERE c.day < (SELECT min(d.day) FROM bus.days() AS d WHERE d.is_attached AND NOT d.is_detaching);
    GET DIAGNOSTICS gone = ROW_COUNT;
    DELETE FROM ops.outline AS o USING bus.retention AS r
    WHERE o.partition = r.partition AND o.stretch < r.dropped_to / 512;
    RETURN gone;
END $$;

REVOKE ALL ON FUNCTION ops.take_in(integer, integer) FROM PUBLIC;
REVOKE ALL ON FUNCTION ops.forget_days() FROM PUBLIC;

INSERT INTO bus.readers (partition, reader, log_offset)
SELECT p.partition, 'ops', coalesce(r.dropped_to, 0) FROM bus.partitions AS p LEFT JOIN bus.retention AS r USING (partition);
