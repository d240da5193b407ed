-- compatible
-- An operator may still decide about an event whose day is dropped, so the log keeps such events in a separate table.

-- The events of dead letters whose day was dropped.
CREATE TABLE bus.kept_events (
    LIKE bus.events INCLUDING DEFAULTS INCLUDING STORAGE,
    CONSTRAINT kept_events_place PRIMARY KEY (partition, log_offset)
);

-- Copies the events of one day and partition that dead letters name. It runs before the day is dropped.
CREATE FUNCTION bus.keep_events(place integer, wanted date) RETURNS void
LANGUAGE sql SET search_path = pg_catalog AS $$
    INSERT INTO bus.kept_events (partition, log_offset, day, id, source, type, version, key, app, time, correlationid,
        causationid, traceparent, data, appended_at)
    SELECT e.partition, e.log_offset, e.day, e.id, e.source, e.type, e.version, e.key, e.app, e.time, e.correlationid,
        e.causationid, e.traceparent, e.data, e.appended_at
    FROM bus.events AS e
    WHERE e.partition = place AND e.day = wanted
        AND e.log_offset IN (SELECT d.log_offset FROM bus.dead_letters AS d WHERE d.partition = place)
    ON CONFLICT DO NOTHING
$$;
REVOKE ALL ON FUNCTION bus.keep_events(integer, date) FROM PUBLIC;

-- The consumers that have not read a day to its end. Dead letters do not count: their events are kept.
CREATE OR REPLACE FUNCTION bus.day_readers(wanted date) RETURNS SETOF text LANGUAGE sql STABLE SET search_path = pg_catalog AS $$
    SELECT DISTINCT c.consumer FROM bus.cursors AS c
    WHERE c.log_offset < (SELECT max(e.log_offset) FROM bus.events AS e WHERE e.partition = c.partition AND e.day = wanted)
    UNION
    SELECT 'revocations' FROM bus.revocations_read AS r
    WHERE r.log_offset < (SELECT max(e.log_offset) FROM bus.events AS e WHERE e.partition = r.partition AND e.day = wanted)
    UNION
    SELECT r.reader FROM bus.readers AS r
    WHERE r.log_offset < (SELECT max(e.log_offset) FROM bus.events AS e WHERE e.partition = r.partition AND e.day = wanted)
    ORDER BY 1
$$;

-- Returns the reference day, from which ages are counted; null if the log is empty. It is the newest day with events,
-- so a fast clock alone ages nothing. If that day lies more than `kept` days after the previous one, the clock may have
-- been wrong at the append. Then the day before the gap is the reference, until three days with events follow the gap.
CREATE FUNCTION bus.reference_day(kept integer) RETURNS date LANGUAGE sql STABLE SET search_path = pg_catalog AS $$
    WITH used AS (
        SELECT d.day, lag(d.day) OVER (ORDER BY d.day) AS former, row_number() OVER (ORDER BY d.day DESC) AS place
        FROM bus.days() AS d
        WHERE d.is_attached AND NOT d.is_detaching AND EXISTS (SELECT FROM bus.events AS e WHERE e.day = d.day)
    )
    SELECT coalesce((SELECT min(u.former) FROM used AS u WHERE u.day - u.former > kept AND u.place < 3),
        (SELECT max(u.day) FROM used AS u))
$$;
