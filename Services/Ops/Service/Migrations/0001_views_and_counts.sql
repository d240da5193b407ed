-- Projections of the log for `ops`: counts, a skip index, the current devices and apps, a row for each notification, and
-- views for SQL tools. One transaction writes the effect of a batch of events and moves the position of the reader `ops`.

-- The number of events in each minute, hour and day of suite time. Each width has its own table. Hours and days are few,
-- and would be spread among the rows of minutes.
CREATE TABLE ops.counts (
    partition integer NOT NULL,
    -- Seconds: 60, 3600 or 86400.
    width integer NOT NULL,
    -- Seconds since 1970, a multiple of the width.
    start bigint NOT NULL,
    type text NOT NULL,
    -- The result of ops.label.
    label text NOT NULL,
    -- The day of the log with the counted events. The counts are deleted after this day is dropped.
    day date NOT NULL,
    events bigint NOT NULL,
    -- The sum of ops.amount.
    amount numeric NOT NULL,
    -- The fleet of the device at the event; empty for none.
    fleet text COLLATE "C" NOT NULL DEFAULT '',
    CONSTRAINT counts_pkey PRIMARY KEY (partition, width, start, type, label, day, fleet)
) PARTITION BY LIST (width);
CREATE INDEX counts_day_idx ON ops.counts (day);
-- For the view ops.rates.
CREATE INDEX counts_width_to_timestamp_idx ON ops.counts (width, to_timestamp(start));
CREATE TABLE ops.counts_minutes PARTITION OF ops.counts FOR VALUES IN (60) WITH (fillfactor = 70);
CREATE TABLE ops.counts_hours PARTITION OF ops.counts FOR VALUES IN (3600) WITH (fillfactor = 70);
CREATE TABLE ops.counts_days PARTITION OF ops.counts FOR VALUES IN (86400) WITH (fillfactor = 70);

-- The content of each block of 512 offsets. Block n has the offsets 512 * n + 1 to 512 * n + 512, as far as they are
-- counted. A query without a database index skips the blocks that can't match.
CREATE TABLE ops.blocks (
    partition integer NOT NULL,
    block bigint NOT NULL,
    types text[] NOT NULL,
    sources text[] NOT NULL,
    -- Suite time in milliseconds since 1970.
    earliest bigint NOT NULL,
    latest bigint NOT NULL,
    CONSTRAINT blocks_pkey PRIMARY KEY (partition, block)
) WITH (fillfactor = 70);

-- The blocks with events of a type, and the first and the last offset of these events in each block.
CREATE TABLE ops.block_types (
    partition integer NOT NULL,
    type text NOT NULL,
    block bigint NOT NULL,
    first bigint NOT NULL,
    last bigint NOT NULL,
    CONSTRAINT block_types_pkey PRIMARY KEY (partition, type, block)
) WITH (fillfactor = 70);
CREATE INDEX block_types_partition_block_idx ON ops.block_types (partition, block);

-- The times of each group of 64 blocks, which has 32,768 offsets. Suite time in milliseconds since 1970.
CREATE TABLE ops.block_groups (
    partition integer NOT NULL,
    block_group bigint NOT NULL,
    earliest bigint NOT NULL,
    latest bigint NOT NULL,
    CONSTRAINT block_groups_pkey PRIMARY KEY (partition, block_group)
) WITH (fillfactor = 50);

-- The registered devices.
CREATE TABLE ops.known_devices (
    partition integer NOT NULL,
    key text COLLATE "C" NOT NULL,
    profile text NOT NULL,
    fleet text,
    -- The name of its time zone (IANA).
    time_zone text,
    -- Whether the suite itself acts as the device.
    built_in boolean NOT NULL DEFAULT false,
    powered boolean NOT NULL DEFAULT true,
    -- Suite time in milliseconds since 1970.
    registered_at bigint NOT NULL,
    CONSTRAINT known_devices_pkey PRIMARY KEY (partition, key)
);
-- A query counts the devices that are turned off. They are few.
CREATE INDEX known_devices_partition_idx ON ops.known_devices (partition) WHERE NOT powered;

-- The devices that are or were in a fleet.
CREATE TABLE ops.fleet_devices (
    partition integer NOT NULL,
    key text COLLATE "C" NOT NULL,
    fleet text COLLATE "C" NOT NULL,
    -- The day of the log with the last event that changed the fleet of the device. The row of a device that has left the
    -- fleet is deleted after this day is dropped.
    day date NOT NULL,
    CONSTRAINT fleet_devices_pkey PRIMARY KEY (partition, key, fleet)
);
CREATE INDEX fleet_devices_fleet_idx ON ops.fleet_devices (fleet);

-- The installed apps.
CREATE TABLE ops.known_apps (
    partition integer NOT NULL,
    key text COLLATE "C" NOT NULL,
    app text NOT NULL,
    state text NOT NULL,
    -- The start of the state, in suite time in milliseconds since 1970.
    since bigint NOT NULL,
    CONSTRAINT known_apps_pkey PRIMARY KEY (partition, key, app)
) WITH (fillfactor = 70);

-- The notifications that providers sent, one row each. Times are suite time in milliseconds since 1970.
CREATE TABLE ops.known_pushes (
    partition integer NOT NULL,
    notification text COLLATE "C" NOT NULL,
    -- The offset of its push.notification.received.
    log_offset bigint NOT NULL,
    -- The day of the log with its latest event. The row is deleted after this day is dropped.
    day date NOT NULL,
    key text COLLATE "C" NOT NULL,
    app text,
    -- The fleet of the device when the notification was sent.
    fleet text,
    -- 'silent', or the push type.
    type text NOT NULL,
    apns_id text,
    channel text,
    collapse_id text,
    priority integer NOT NULL,
    -- Whether the device shows it to the user.
    for_user boolean NOT NULL,
    sent_at bigint NOT NULL,
    expires_at bigint,
    -- The first delivery, wake, arrival and presentation.
    delivered_at bigint,
    woke_at bigint,
    arrived_at bigint,
    shown_at bigint,
    acknowledged boolean NOT NULL DEFAULT false,
    -- Whether its wake is requested or in progress.
    waking boolean NOT NULL DEFAULT false,
    -- The status with which it arrived or ended; else the latest one. `cause` is the cause and `event` the event of it.
    status text NOT NULL,
    cause text,
    event uuid NOT NULL,
    -- The latest status with which it waited before its arrival, and the event of it.
    wait text,
    wait_event uuid,
    CONSTRAINT known_pushes_pkey PRIMARY KEY (partition, notification)
) WITH (fillfactor = 70);
CREATE INDEX known_pushes_partition_sent_at_log_offset_idx ON ops.known_pushes (partition, sent_at, log_offset);
CREATE INDEX known_pushes_partition_key_sent_at_log_offset_idx ON ops.known_pushes (partition, key, sent_at, log_offset);
CREATE INDEX known_pushes_partition_fleet_sent_at_log_offset_idx ON ops.known_pushes (partition, fleet, sent_at, log_offset)
    WHERE fleet IS NOT NULL;
CREATE INDEX known_pushes_partition_type_sent_at_log_offset_idx ON ops.known_pushes (partition, type, sent_at, log_offset);
-- For the verdicts `never` and `pending`, and for `late` from one second on. Most notifications are in neither index. An
-- arrival changes the first one once.
CREATE INDEX known_pushes_not_arrived_idx ON ops.known_pushes (partition, sent_at, log_offset) WHERE arrived_at IS NULL;
CREATE INDEX known_pushes_slow_idx ON ops.known_pushes (partition, sent_at, log_offset) WHERE arrived_at - sent_at > 1000;
CREATE INDEX known_pushes_day_idx ON ops.known_pushes (day);
-- For the view ops.pushes.
CREATE INDEX known_pushes_to_timestamp_idx ON ops.known_pushes USING brin (to_timestamp(sent_at / 1000.0::double precision))
    WITH (pages_per_range = 32, autosummarize = on);

-- The number of devices, with the name 'devices', and of apps in each state, with the name of the state.
CREATE TABLE ops.totals (
    partition integer NOT NULL,
    name text NOT NULL,
    total bigint NOT NULL,
    CONSTRAINT totals_pkey PRIMARY KEY (partition, name)
) WITH (fillfactor = 50);

CREATE FUNCTION ops.count_apps() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog AS $$
BEGIN
    -- An INSERT has no old_rows and a DELETE has no new_rows, so each branch names only tables that exist.
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
CREATE TRIGGER known_apps_inserted AFTER INSERT ON ops.known_apps REFERENCING NEW TABLE AS new_rows
    FOR EACH STATEMENT EXECUTE FUNCTION ops.count_apps();
CREATE TRIGGER known_apps_updated AFTER UPDATE ON ops.known_apps REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows
    FOR EACH STATEMENT EXECUTE FUNCTION ops.count_apps();
CREATE TRIGGER known_apps_deleted AFTER DELETE ON ops.known_apps REFERENCING OLD TABLE AS old_rows
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
CREATE TRIGGER known_devices_inserted AFTER INSERT ON ops.known_devices REFERENCING NEW TABLE AS new_rows
    FOR EACH STATEMENT EXECUTE FUNCTION ops.count_devices();
CREATE TRIGGER known_devices_deleted AFTER DELETE ON ops.known_devices REFERENCING OLD TABLE AS old_rows
    FOR EACH STATEMENT EXECUTE FUNCTION ops.count_devices();

-- Returns the property by which events of one type are counted separately: the reason of a wake, a refusal or an exit
-- ("reason code" if the system ended the app), the status of a notification, the error of a transfer. Empty for others.
-- PostgreSQL inlines this function and the next two, so they may have no SET and call only immutable functions.
CREATE FUNCTION ops.label(type text, data json) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN coalesce(
    CASE
        WHEN type = 'lifecycle.app.woken' THEN data ->> 'reason'
        WHEN type = 'lifecycle.wake.refused' THEN data ->> 'refusal'
        WHEN type = 'lifecycle.app.terminated'
            THEN coalesce((data ->> 'reason') || ' ' || (data ->> 'code'), data ->> 'reason', data ->> 'code')
        WHEN type = 'transfer.task.completed' THEN data #>> '{error,code}'
        -- Each use of the data parses all of it, and `push.presence.changed` is frequent.
        WHEN type LIKE 'push.%' AND type <> 'push.presence.changed' THEN data ->> 'status'
    END, '');

-- Returns the bytes that a transfer moved since its last report; 0 for all other events.
CREATE FUNCTION ops.amount(type text, data json) RETURNS numeric LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN coalesce(
    CASE type
        WHEN 'transfer.progress.made' THEN (data ->> 'bytesWritten')::numeric
        WHEN 'transfer.body.sent' THEN (data ->> 'bytesSent')::numeric
    END, 0);

-- Returns the events of a batch: of each partition, those with offsets above `low`, up to `high`. OFFSET makes the
-- planner use the primary key for each partition.
CREATE FUNCTION ops.batch(partitions integer[], lows bigint[], highs bigint[])
RETURNS TABLE (
    partition integer, log_offset bigint, day date, id uuid, source text, type text, key text, app text, "time" bigint,
    data json)
LANGUAGE sql STABLE
BEGIN ATOMIC
    SELECT e.partition, e.log_offset, e.day, e.id, e.source, e.type, e.key COLLATE "C", e.app COLLATE "C", e.time, e.data
    FROM unnest(partitions, lows, highs) AS s (partition, low, high)
    CROSS JOIN LATERAL (
        SELECT * FROM bus.events AS e
        WHERE e.partition = s.partition AND e.log_offset > s.low AND e.log_offset <= s.high OFFSET 0) AS e;
END;

-- Returns the events of a batch that have one of the types and are about what exists after the batch. An app can be
-- uninstalled, or its device deregistered, and then installed or registered again. The earlier events are not about the
-- new app or device, even if the names are equal.
CREATE FUNCTION ops.current_batch(partitions integer[], lows bigint[], highs bigint[], wanted text[])
RETURNS TABLE (partition integer, log_offset bigint, type text, key text, app text, "time" bigint, data json)
LANGUAGE sql STABLE
BEGIN ATOMIC
    SELECT e.partition, e.log_offset, e.type, e.key, e.app, e.time, e.data
    FROM (
        SELECT e.*,
            max(e.log_offset) FILTER (WHERE e.type <> ALL (wanted)) OVER (PARTITION BY e.partition, e.key, e.app) AS removed,
            max(e.log_offset) FILTER (WHERE e.type <> ALL (wanted) AND e.app IS NULL) OVER (PARTITION BY e.partition, e.key)
                AS device_removed
        FROM ops.batch(partitions, lows, highs) AS e
        WHERE e.type = ANY (wanted) OR e.type IN ('lifecycle.app.uninstalled', 'lifecycle.device.deregistered')) AS e
    WHERE e.type = ANY (wanted) AND e.log_offset > coalesce(greatest(e.removed, e.device_removed), 0);
END;

-- Counts the next events of one partition, or of all if it is null, at most the given number. Partitions that are behind
-- have equal shares. Returns the number of counted events. Omits partitions that another process counts.
CREATE FUNCTION ops.count_events(only_partition integer, max_events integer) RETURNS integer
-- A large log makes the estimates high, but batches are too small for compiled plans.
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog SET jit = off AS $$
DECLARE
    bounds record;
    partitions integer[];
    lows bigint[];
    highs bigint[];
    counted bigint;
    types text[];
BEGIN
    -- A statement of its own, because Citus locks no rows in a statement that reads several shards.
    SELECT array_agg(p.partition) AS partitions, array_agg(p.head) AS heads, array_agg(coalesce(t.dropped_to, 0)) AS dropped
    INTO bounds
    FROM bus.partitions AS p LEFT JOIN bus.retention AS t USING (partition)
    WHERE only_partition IS NULL OR p.partition = only_partition;
    -- The offsets start after dropped events. They can be uncounted if the log was restored without this schema.
    SELECT array_agg(s.partition), array_agg(s.low), array_agg(s.high), sum(s.high - s.low)
    INTO partitions, lows, highs, counted
    FROM (
        SELECT b.partition, b.low, least(b.head, b.low + greatest(least(max_events, 50000) / count(*) OVER (), 1)) AS high
        FROM (
            SELECT r.partition, p.head, greatest(r.log_offset, p.dropped_to) AS low
            FROM bus.readers AS r
            JOIN unnest(bounds.partitions, bounds.heads, bounds.dropped) AS p (partition, head, dropped_to) USING (partition)
            WHERE r.reader = 'ops' AND p.head > r.log_offset
            FOR UPDATE OF r SKIP LOCKED) AS b
        WHERE b.head > b.low) AS s;
    IF partitions IS NULL THEN RETURN 0; END IF;

    -- The fleet of a device from an event of the batch on, up to the next one. A deregistration is still of the fleet.
    WITH fleets AS MATERIALIZED (
        SELECT f.partition, f.key, f.fleet, f.low,
            coalesce(lead(f.low) OVER (PARTITION BY f.partition, f.key ORDER BY f.low), 9223372036854775807) AS high
        FROM (
            SELECT e.partition, e.key, e.data #>> '{registration,fleet}' AS fleet,
                e.log_offset + (e.type = 'lifecycle.device.deregistered')::integer AS low
            FROM ops.batch(partitions, lows, highs) AS e
            WHERE e.type IN (
                'lifecycle.device.registered', 'lifecycle.device.updated', 'lifecycle.device.deregistered')) AS f
    ), grouped AS MATERIALIZED (
        SELECT e.partition, (e.log_offset - 1) / 512 AS block, e.source, e.type, ops.label(e.type, e.data) AS label, e.day,
            floor(e.time / 60000::float8)::bigint AS minute,
            coalesce(CASE WHEN f.key IS NULL THEN d.fleet ELSE f.fleet END, '') AS fleet, count(*) AS events,
            sum(ops.amount(e.type, e.data)) AS amount, min(e.log_offset) AS first, max(e.log_offset) AS last,
            min(e.time) AS earliest, max(e.time) AS latest
        FROM ops.batch(partitions, lows, highs) AS e
        LEFT JOIN fleets AS f
            ON f.partition = e.partition AND f.key = e.key AND f.low <= e.log_offset AND e.log_offset < f.high
        LEFT JOIN ops.known_devices AS d ON d.partition = e.partition AND d.key = e.key
        GROUP BY 1, 2, 3, 4, 5, 6, 7, 8
    ), counts AS (
        INSERT INTO ops.counts AS c (partition, width, start, type, label, day, events, amount, fleet)
        SELECT g.partition, w.width, floor(g.minute * 60 / w.width::float8)::bigint * w.width, g.type, g.label, g.day,
            sum(g.events), sum(g.amount), g.fleet
        FROM grouped AS g CROSS JOIN (VALUES (60), (3600), (86400)) AS w (width)
        GROUP BY 1, 2, 3, 4, 5, 6, 9
        ON CONFLICT (partition, width, start, type, label, day, fleet) DO UPDATE
            SET events = c.events + excluded.events, amount = c.amount + excluded.amount
    ), blocks AS (
        INSERT INTO ops.blocks AS o (partition, block, types, sources, earliest, latest)
        SELECT g.partition, g.block, array_agg(DISTINCT g.type), array_agg(DISTINCT g.source), min(g.earliest), max(g.latest)
        FROM grouped AS g GROUP BY 1, 2
        ON CONFLICT (partition, block) DO UPDATE SET
            types = ARRAY(SELECT DISTINCT t FROM unnest(o.types || excluded.types) AS t),
            sources = ARRAY(SELECT DISTINCT s FROM unnest(o.sources || excluded.sources) AS s),
            earliest = least(o.earliest, excluded.earliest), latest = greatest(o.latest, excluded.latest)
    ), block_types AS (
        INSERT INTO ops.block_types AS t (partition, type, block, first, last)
        SELECT g.partition, g.type, g.block, min(g.first), max(g.last) FROM grouped AS g GROUP BY 1, 2, 3
        ON CONFLICT (partition, type, block) DO UPDATE SET
            first = least(t.first, excluded.first), last = greatest(t.last, excluded.last)
    ), block_groups AS (
        INSERT INTO ops.block_groups AS b (partition, block_group, earliest, latest)
        SELECT g.partition, g.block / 64, min(g.earliest), max(g.latest) FROM grouped AS g GROUP BY 1, 2
        ON CONFLICT (partition, block_group) DO UPDATE SET
            earliest = least(b.earliest, excluded.earliest), latest = greatest(b.latest, excluded.latest)
    ), readers AS (
        UPDATE bus.readers AS r SET log_offset = s.high FROM unnest(partitions, highs) AS s (partition, high)
        WHERE r.partition = s.partition AND r.reader = 'ops'
    )
    SELECT array_agg(DISTINCT g.type) INTO types FROM grouped AS g;

    -- The fleet of a notification is that of its device before the batch, unless the batch changes it.
    PERFORM ops.update_known_pushes(partitions, lows, highs, types);
    PERFORM ops.update_fleet_devices(partitions, lows, highs, types);
    PERFORM ops.update_known_devices(partitions, lows, highs, types);
    PERFORM ops.update_known_apps(partitions, lows, highs, types);
    PERFORM ops.note_erasures(partitions, lows, highs, types);
    RETURN counted;
END $$;
REVOKE ALL ON FUNCTION ops.count_events(integer, integer) FROM PUBLIC;

-- Updates ops.fleet_devices by a batch of events with these types. The result does not depend on the sizes of batches.
CREATE FUNCTION ops.update_fleet_devices(partitions integer[], lows bigint[], highs bigint[], types text[]) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog AS $$
DECLARE
    changes text[] := ARRAY[
        'lifecycle.device.registered', 'lifecycle.device.updated', 'lifecycle.device.deregistered'];
BEGIN
    IF NOT types && changes THEN RETURN; END IF;
    INSERT INTO ops.fleet_devices AS f (partition, key, fleet, day)
    SELECT e.partition, e.key, e.data #>> '{registration,fleet}', max(e.day)
    FROM ops.batch(partitions, lows, highs) AS e
    WHERE e.type = ANY (changes) AND e.data #>> '{registration,fleet}' IS NOT NULL
    GROUP BY 1, 2, 3
    ON CONFLICT (partition, key, fleet) DO NOTHING;
    -- After an event, the device may be in another fleet.
    UPDATE ops.fleet_devices AS f SET day = e.day
    FROM (
        SELECT b.partition, b.key, max(b.day) AS day FROM ops.batch(partitions, lows, highs) AS b
        WHERE b.type = ANY (changes) GROUP BY 1, 2) AS e
    WHERE f.partition = e.partition AND f.key = e.key AND f.day < e.day;
END $$;

-- Updates ops.known_devices by a batch of events with these types. The result does not depend on the sizes of batches.
CREATE FUNCTION ops.update_known_devices(partitions integer[], lows bigint[], highs bigint[], types text[]) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog AS $$
BEGIN
    IF 'lifecycle.device.deregistered' = ANY (types) THEN
        DELETE FROM ops.known_devices AS d
        USING ops.batch(partitions, lows, highs) AS e
        WHERE e.type = 'lifecycle.device.deregistered' AND d.partition = e.partition AND d.key = e.key;
    END IF;

    IF types && ARRAY['lifecycle.device.registered', 'lifecycle.device.updated'] THEN
        INSERT INTO ops.known_devices AS d (partition, key, profile, fleet, time_zone, built_in, registered_at)
        SELECT DISTINCT ON (e.partition, e.key) e.partition, e.key, e.data #>> '{registration,profile}',
            e.data #>> '{registration,fleet}', e.data #>> '{registration,timeZone}',
            e.data #>> '{registration,simulate}' IS NOT NULL, min(e.time) OVER (PARTITION BY e.partition, e.key)
        FROM ops.current_batch(
            partitions, lows, highs, ARRAY['lifecycle.device.registered', 'lifecycle.device.updated']) AS e
        ORDER BY e.partition, e.key, e.log_offset DESC
        ON CONFLICT (partition, key) DO UPDATE SET profile = excluded.profile, fleet = excluded.fleet,
            time_zone = excluded.time_zone, built_in = excluded.built_in;
    END IF;

    IF 'lifecycle.device.powered' = ANY (types) THEN
        UPDATE ops.known_devices AS d SET powered = p.powered
        FROM (
            SELECT DISTINCT ON (e.partition, e.key) e.partition, e.key, e.data ->> 'power' <> 'off' AS powered
            FROM ops.current_batch(partitions, lows, highs, ARRAY['lifecycle.device.powered']) AS e
            ORDER BY e.partition, e.key, e.log_offset DESC) AS p
        WHERE d.partition = p.partition AND d.key = p.key;
    END IF;
END $$;

-- Updates ops.known_apps by a batch of events with these types. The result does not depend on the sizes of batches.
CREATE FUNCTION ops.update_known_apps(partitions integer[], lows bigint[], highs bigint[], types text[]) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog AS $$
BEGIN
    IF types && ARRAY['lifecycle.app.uninstalled', 'lifecycle.device.deregistered'] THEN
        DELETE FROM ops.known_apps AS a
        USING ops.batch(partitions, lows, highs) AS e
        WHERE e.type IN ('lifecycle.app.uninstalled', 'lifecycle.device.deregistered')
            AND a.partition = e.partition AND a.key = e.key AND (e.app IS NULL OR a.app = e.app);
    END IF;

    -- The installation of an app that is already installed does not change its state. A change has its own event.
    IF 'lifecycle.app.installed' = ANY (types) THEN
        INSERT INTO ops.known_apps AS a (partition, key, app, state, since)
        SELECT DISTINCT ON (e.partition, e.key, e.app) e.partition, e.key, e.app, 'notRunning', e.time
        FROM ops.current_batch(partitions, lows, highs, ARRAY['lifecycle.app.installed']) AS e
        ORDER BY e.partition, e.key, e.app, e.log_offset
        ON CONFLICT (partition, key, app) DO NOTHING;
    END IF;

    -- `since` is the time of the last event whose state differs from the one before it. The first event of the batch has
    -- no previous one: it is compared with the stored state. An uninstalled app has no state.
    UPDATE ops.known_apps AS a SET state = s.state, since = s.time
    FROM (
        SELECT DISTINCT ON (t.partition, t.key, t.app) * FROM (
            SELECT e.*, lag(e.state) OVER (PARTITION BY e.partition, e.key, e.app ORDER BY e.log_offset) AS previous
            FROM (
                -- OFFSET makes the executor parse the data once.
                SELECT b.partition, b.key, b.app, b.log_offset, b.time, b.data ->> 'state' AS state
                FROM ops.current_batch(partitions, lows, highs, ARRAY(
                    SELECT t FROM unnest(types) AS t
                    WHERE t LIKE 'lifecycle.app.%' AND t <> 'lifecycle.app.uninstalled')) AS b OFFSET 0) AS e
            WHERE e.state IS NOT NULL) AS t
        WHERE t.state IS DISTINCT FROM t.previous
        ORDER BY t.partition, t.key, t.app, t.log_offset DESC) AS s
    WHERE a.partition = s.partition AND a.key = s.key AND a.app = s.app
        AND (s.previous IS NOT NULL OR s.state <> a.state);
END $$;

-- Returns whether a notification that has not arrived ended. One that the device has acknowledged waits for nothing but its
-- wake, unless it is held. PostgreSQL inlines this function and the next two.
CREATE FUNCTION ops.push_ended(status text, acknowledged boolean, waking boolean) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN status LIKE 'Discarded%' OR status IN ('Replaced By', 'Device Removed')
    OR acknowledged AND NOT waking AND status NOT LIKE 'Held%' AND status NOT LIKE 'Stored%';

-- Returns the verdict on a notification that counts as late after some milliseconds.
CREATE FUNCTION ops.push_verdict(sent_at bigint, arrived_at bigint, ended boolean, late_after bigint) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN arrived_at - sent_at > late_after THEN 'late' WHEN arrived_at IS NOT NULL THEN 'inTime'
    WHEN ended THEN 'never' ELSE 'pending' END;

-- Returns the reason for a verdict; null for 'inTime'.
CREATE FUNCTION ops.push_why(verdict text, status text, wait text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE verdict WHEN 'late' THEN coalesce(wait, 'Device Answered Late') WHEN 'pending' THEN status
    WHEN 'never' THEN CASE
        WHEN status LIKE 'Discarded%' OR status IN ('Replaced By', 'Device Removed') THEN status ELSE 'Not Shown' END END;

-- Updates ops.known_pushes by a batch of events with these types. The result does not depend on the sizes of batches.
CREATE FUNCTION ops.update_known_pushes(partitions integer[], lows bigint[], highs bigint[], types text[]) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog AS $$
DECLARE
    steps text[] := ARRAY(
        SELECT t FROM unnest(types) AS t
        WHERE t LIKE ANY (ARRAY['push.notification.%', 'push.wake.%']) AND t <> 'push.notification.received');
BEGIN
    IF 'push.notification.received' = ANY (types) THEN
        INSERT INTO ops.known_pushes AS p (partition, notification, log_offset, day, key, app, fleet, type, apns_id, channel,
            collapse_id, priority, for_user, sent_at, expires_at, status, event)
        SELECT e.partition, r.notification, e.log_offset, e.day, e.key, e.app,
            CASE WHEN e.registrations > 0 THEN e.fleet ELSE d.fleet END,
            CASE WHEN r.silent THEN 'silent' ELSE coalesce(r."pushType", 'alert') END,
            r."apnsID", r.channel, r."collapseID", coalesce(r.priority, 10), coalesce(r."forUser", false), e.time,
            round(extract(epoch FROM r.until) * 1000)::bigint, 'Received', e.id
        FROM (
            -- The latest registration in the batch before each notification has its fleet.
            SELECT r.*, first_value(r.data #>> '{registration,fleet}') OVER (
                PARTITION BY r.partition, r.key, r.registrations ORDER BY r.log_offset) AS fleet
            FROM (
                SELECT b.*, count(*) FILTER (WHERE b.type <> 'push.notification.received') OVER (
                    PARTITION BY b.partition, b.key ORDER BY b.log_offset) AS registrations
                FROM ops.batch(partitions, lows, highs) AS b
                WHERE b.type IN (
                    'push.notification.received', 'lifecycle.device.registered', 'lifecycle.device.updated')) AS r) AS e
        CROSS JOIN LATERAL json_to_record(e.data) AS r (
            notification text, "apnsID" text, channel text, "collapseID" text, "forUser" boolean, priority integer,
            "pushType" text, silent boolean, until timestamptz)
        LEFT JOIN ops.known_devices AS d ON d.partition = e.partition AND d.key = e.key
        WHERE e.type = 'push.notification.received' AND r.notification IS NOT NULL
        ON CONFLICT (partition, notification) DO NOTHING;
    END IF;

    IF steps <> '{}' THEN
        -- The status, the cause and the wait are those up to the first arrival.
        UPDATE ops.known_pushes AS p SET
            day = greatest(p.day, s.day), delivered_at = coalesce(p.delivered_at, s.delivered_at),
            woke_at = coalesce(p.woke_at, s.woke_at), arrived_at = coalesce(p.arrived_at, s.arrived_at),
            shown_at = CASE WHEN p.for_user THEN coalesce(p.shown_at, s.shown_at) END,
            acknowledged = p.acknowledged OR s.acknowledged, waking = coalesce(s.waking, p.waking),
            status = CASE WHEN p.arrived_at IS NULL AND s.event IS NOT NULL THEN s.status ELSE p.status END,
            cause = CASE WHEN p.arrived_at IS NULL AND s.event IS NOT NULL THEN s.cause ELSE p.cause END,
            event = CASE WHEN p.arrived_at IS NULL AND s.event IS NOT NULL THEN s.event ELSE p.event END,
            wait = CASE WHEN p.arrived_at IS NULL AND s.wait_event IS NOT NULL THEN s.wait ELSE p.wait END,
            wait_event = CASE WHEN p.arrived_at IS NULL AND s.wait_event IS NOT NULL THEN s.wait_event ELSE p.wait_event END
        FROM (
            SELECT f.partition, f.notification, max(f.day) AS day,
                min(f.time) FILTER (WHERE f.type = 'push.notification.delivered') AS delivered_at,
                min(f.time) FILTER (WHERE f.type = 'push.wake.granted') AS woke_at,
                min(f.time) FILTER (WHERE f.arrives) AS arrived_at,
                min(f.time) FILTER (
                    WHERE f.arrives AND f.type IN ('push.notification.presented', 'push.notification.acknowledged'))
                    AS shown_at,
                bool_or(f.type = 'push.notification.acknowledged') AS acknowledged,
                (array_agg(f.type IN ('push.wake.requested', 'push.wake.granted') ORDER BY f.log_offset DESC)
                    FILTER (WHERE f.type LIKE 'push.wake.%'))[1] AS waking,
                (array_agg(f.status ORDER BY f.log_offset DESC) FILTER (WHERE f.decides))[1] AS status,
                (array_agg(f.cause ORDER BY f.log_offset DESC) FILTER (WHERE f.decides))[1] AS cause,
                (array_agg(f.id ORDER BY f.log_offset DESC) FILTER (WHERE f.decides))[1] AS event,
                (array_agg(f.status ORDER BY f.log_offset DESC) FILTER (WHERE f.decides AND f.waits))[1] AS wait,
                (array_agg(f.id ORDER BY f.log_offset DESC) FILTER (WHERE f.decides AND f.waits))[1] AS wait_event
            FROM (
                SELECT a.*, a.type IN ('push.notification.stored', 'push.notification.held') AS waits,
                    a.status IS NOT NULL AND a.log_offset
                        <= coalesce(min(a.log_offset) FILTER (WHERE a.arrives) OVER (PARTITION BY a.partition, a.notification),
                            a.log_offset) AS decides
                FROM (
                    SELECT e.partition, e.log_offset, e.day, e.id, e.type, e.time, d.notification, d.status,
                        coalesce(d.refusal, d."end", d.cause, d.by) AS cause,
                        e.type = 'push.notification.presented' OR coalesce(d.arrived, false)
                            OR e.type IN ('push.notification.modified', 'push.notification.unmodified')
                                AND coalesce(d."willPresent", false) AS arrives
                    FROM ops.batch(partitions, lows, highs) AS e
                    CROSS JOIN LATERAL json_to_record(e.data) AS d (
                        notification text, status text, refusal text, "end" text, cause text, by text, arrived boolean,
                        "willPresent" boolean)
                    WHERE e.type = ANY (steps)) AS a) AS f
            GROUP BY f.partition, f.notification) AS s
        WHERE p.partition = s.partition AND p.notification = s.notification;
    END IF;

    IF 'push.device.removed' = ANY (types) THEN
        UPDATE ops.known_pushes AS p SET day = greatest(p.day, r.day), status = 'Device Removed', cause = NULL, event = r.id
        FROM (
            SELECT e.*, coalesce(lag(e.log_offset) OVER (PARTITION BY e.partition, e.key ORDER BY e.log_offset), 0) AS earlier
            FROM ops.batch(partitions, lows, highs) AS e WHERE e.type = 'push.device.removed') AS r
        WHERE p.partition = r.partition AND p.key = r.key AND p.log_offset < r.log_offset AND p.log_offset > r.earlier
            AND p.arrived_at IS NULL AND NOT ops.push_ended(p.status, p.acknowledged, p.waking);
    END IF;
END $$;

-- Deletes the counts, the blocks and the notifications of days that the log has dropped. Of the large tables it deletes at
-- most 20,000 rows each. Returns the number of these rows; if it is more than 0, call the function again.
CREATE FUNCTION ops.prune_counts() RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog AS $$
DECLARE
    oldest date;
    dropped record;
    minutes bigint;
    types bigint;
    pushes bigint;
BEGIN
    SELECT array_agg(r.partition) AS partitions, array_agg(r.dropped_to) AS offsets INTO dropped FROM bus.retention AS r;
    SELECT min(d.day) INTO oldest FROM bus.days() AS d WHERE d.is_attached AND NOT d.is_detaching;
    DELETE FROM ops.counts_minutes AS c
    WHERE c.ctid = ANY (ARRAY(SELECT o.ctid FROM ops.counts_minutes AS o WHERE o.day < oldest LIMIT 20000));
    GET DIAGNOSTICS minutes = ROW_COUNT;
    DELETE FROM ops.counts AS c WHERE c.width <> 60 AND c.day < oldest;
    DELETE FROM ops.block_types AS t
    WHERE t.ctid = ANY (ARRAY(
        SELECT o.ctid FROM unnest(dropped.partitions, dropped.offsets) AS r (partition, dropped_to)
        JOIN ops.block_types AS o ON o.partition = r.partition AND o.block < r.dropped_to / 512 LIMIT 20000));
    GET DIAGNOSTICS types = ROW_COUNT;
    DELETE FROM ops.blocks AS o USING unnest(dropped.partitions, dropped.offsets) AS r (partition, dropped_to)
    WHERE o.partition = r.partition AND o.block < r.dropped_to / 512;
    DELETE FROM ops.block_groups AS b USING unnest(dropped.partitions, dropped.offsets) AS r (partition, dropped_to)
    WHERE b.partition = r.partition AND b.block_group < r.dropped_to / 32768;
    DELETE FROM ops.known_pushes AS p
    WHERE p.ctid = ANY (ARRAY(SELECT o.ctid FROM ops.known_pushes AS o WHERE o.day < oldest LIMIT 20000));
    GET DIAGNOSTICS pushes = ROW_COUNT;
    DELETE FROM ops.fleet_devices AS f
    WHERE f.day < oldest AND NOT EXISTS (
        SELECT FROM ops.known_devices AS d WHERE d.partition = f.partition AND d.key = f.key AND d.fleet = f.fleet);
    RETURN minutes + types + pushes;
END $$;
REVOKE ALL ON FUNCTION ops.prune_counts() FROM PUBLIC;

-- Returns digests of random states of a service, for the comparison with the fold of their events. The role of `ops`
-- can't read the states themselves.
CREATE FUNCTION ops.state_digests(service text, partition_number integer, max_states integer)
RETURNS TABLE (key text, digest bytea, machine_version integer, version bigint, event_count bigint, next_deadline bigint)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog AS $$
BEGIN
    IF NOT EXISTS (SELECT FROM bus.services() AS s WHERE s = service) THEN RETURN; END IF;
    RETURN QUERY EXECUTE format(
        'SELECT s.key, sha256(s.state), s.machine_version, s.version, s.event_count, s.next_deadline FROM %1$I.states AS s
        WHERE s.partition = $1 AND s.key IN (
            SELECT c.key FROM %1$I.states AS c WHERE c.partition = $1 ORDER BY random() LIMIT $2)',
        service) USING partition_number, max_states;
END $$;
REVOKE ALL ON FUNCTION ops.state_digests(text, integer, integer) FROM PUBLIC;

INSERT INTO bus.readers (partition, reader, log_offset)
SELECT p.partition, 'ops', coalesce(r.dropped_to, 0) FROM bus.partitions AS p LEFT JOIN bus.retention AS r USING (partition);

-- The views are the interface for SQL tools. They are documented and stay stable. The role `dashboards` can read only
-- them.

-- Lets a condition on the time of a view skip block ranges. A block of its own, because Citus repeats the text of a command
-- on its workers, and they take one command at a time.
DO $$ BEGIN
    CREATE INDEX events_to_timestamp_idx ON bus.events USING brin (to_timestamp(time / 1000.0::double precision))
        WITH (pages_per_range = 32, autosummarize = on);
END $$;

-- Returns the device of an aggregate key, as in the column `device` of the views; null for other aggregates.
CREATE FUNCTION ops.device(key text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog AS $$
    SELECT CASE WHEN key LIKE 'device:%' THEN substr(key, 8) END
$$;

CREATE VIEW ops.events AS
SELECT to_timestamp(e.time / 1000.0::double precision) AS time, e.type, e.source AS service, ops.device(e.key) AS device, e.app,
    e.data, e.id, e.partition, e.log_offset, e.correlationid AS correlation_id, e.causationid AS causation_id, e.actor,
    e.appended_at
FROM bus.events AS e;
COMMENT ON VIEW ops.events IS 'The events that the log has. time is suite time; appended_at is real time.';

CREATE VIEW ops.devices AS
SELECT ops.device(d.key) AS device, d.profile, d.fleet, d.powered,
    to_timestamp(d.registered_at / 1000.0::double precision) AS registered_at
FROM ops.known_devices AS d;
COMMENT ON VIEW ops.devices IS 'The registered devices and their current properties.';

CREATE VIEW ops.app_states AS
SELECT ops.device(a.key) AS device, a.app, a.state, to_timestamp(a.since / 1000.0::double precision) AS since
FROM ops.known_apps AS a;
COMMENT ON VIEW ops.app_states IS 'The installed apps, their current states, and the start of each state.';

CREATE VIEW ops.wakes AS
SELECT e.time, e.device, e.app, e.type = 'lifecycle.app.woken' AS granted, e.data ->> 'reason' AS reason,
    e.data ->> 'kind' AS kind, e.data ->> 'refusal' AS refusal, e.data ->> 'wake' AS wake, e.data ->> 'request' AS request, e.id
FROM ops.events AS e WHERE e.type IN ('lifecycle.app.woken', 'lifecycle.wake.refused');
COMMENT ON VIEW ops.wakes IS 'The background wakes of apps: granted, or refused with a reason.';

CREATE VIEW ops.notifications AS
SELECT e.time, e.device, e.app, e.data ->> 'notification' AS notification, e.data ->> 'status' AS status,
    e.data ->> 'pushType' AS push_type, coalesce(e.data ->> 'refusal', e.data ->> 'cause', e.data ->> 'by') AS cause, e.id,
    e.partition, e.log_offset
FROM ops.events AS e WHERE e.type LIKE 'push.%' AND e.data ->> 'status' IS NOT NULL;
COMMENT ON VIEW ops.notifications IS
    'The statuses of each notification, in the words of Apple''s console. partition and log_offset order the statuses of a notification.';

CREATE VIEW ops.pushes AS
SELECT to_timestamp(p.sent_at / 1000.0::double precision) AS sent_at, p.fleet, ops.device(p.key) AS device, p.app, p.notification,
    p.type, p.priority, p.collapse_id, p.channel, p.apns_id,
    to_timestamp(p.expires_at / 1000.0::double precision) AS expiration,
    to_timestamp(p.delivered_at / 1000.0::double precision) AS delivered_at,
    to_timestamp(p.woke_at / 1000.0::double precision) AS woke_at,
    to_timestamp(p.arrived_at / 1000.0::double precision) AS arrived_at,
    to_timestamp(p.shown_at / 1000.0::double precision) AS shown_at,
    (p.arrived_at - p.sent_at) / 1000.0::double precision AS delay, p.status AS outcome, p.cause, v.verdict,
    ops.push_why(v.verdict, p.status, p.wait) AS why, p.event, p.partition, p.log_offset
FROM ops.known_pushes AS p CROSS JOIN LATERAL (
    SELECT ops.push_verdict(p.sent_at, p.arrived_at, ops.push_ended(p.status, p.acknowledged, p.waking), 30000) AS verdict)
    AS v;
COMMENT ON VIEW ops.pushes IS
    'The notifications that providers sent, and what became of them. Late is more than 30 s after sent_at; delay is in seconds.';

CREATE VIEW ops.transfers AS
SELECT e.time, e.device, e.app, e.data ->> 'session' AS session, (e.data ->> 'task')::bigint AS task,
    coalesce(e.data ->> 'kind', 'download') AS kind, (e.data ->> 'bytesReceived')::bigint AS bytes_received,
    (e.data ->> 'bytesSent')::bigint AS bytes_sent, (e.data ->> 'status')::integer AS status,
    e.data #>> '{error,code}' AS error, e.data ->> 'sha256' AS sha256, e.id
FROM ops.events AS e WHERE e.type = 'transfer.task.completed';
COMMENT ON VIEW ops.transfers IS 'The completed tasks of background sessions, with or without an error.';

CREATE VIEW ops.rates AS
SELECT to_timestamp(c.start) AS time, c.width AS seconds, c.type, c.label, sum(c.events)::bigint AS events, sum(c.amount) AS amount
FROM ops.counts AS c GROUP BY c.start, c.width, c.type, c.label;
COMMENT ON VIEW ops.rates IS
    'The number of events of a type in each minute, hour and day. seconds is 60, 3600 or 86400: select one of them. label divides the events of a type. amount is in bytes.';
