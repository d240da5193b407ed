-- What leads to events of a type, and to those of a time, without looking at each stretch of the outline.

-- Nobody takes events in until this is committed: what is taken in is in all of it.
DO $$ BEGIN
    PERFORM FROM bus.readers AS r WHERE r.reader = 'ops' ORDER BY r.partition FOR UPDATE;
END $$;

-- The stretches that have events of a type, and the first and the last offset of them in each.
CREATE TABLE ops.outline_types (
    partition integer NOT NULL,
    type text NOT NULL,
    stretch bigint NOT NULL,
    first bigint NOT NULL,
    last bigint NOT NULL,
    CONSTRAINT outline_types_one PRIMARY KEY (partition, type, stretch)
) WITH (fillfactor = 70);
CREATE INDEX outline_types_stretch ON ops.outline_types (partition, stretch);

-- The times of 64 stretches each, that is, of 32,768 offsets: by the suite's clock, milliseconds since 1970.
CREATE TABLE ops.outline_blocks (
    partition integer NOT NULL,
    block bigint NOT NULL,
    earliest bigint NOT NULL,
    latest bigint NOT NULL,
    CONSTRAINT outline_blocks_one PRIMARY KEY (partition, block)
) WITH (fillfactor = 50);

-- Of what was taken in before, somewhere in the stretch.
INSERT INTO ops.outline_types
SELECT o.partition, t.type, o.stretch, o.stretch * 512 + 1, o.stretch * 512 + 512
FROM ops.outline AS o CROSS JOIN LATERAL unnest(o.types) AS t (type);
INSERT INTO ops.outline_blocks
SELECT o.partition, o.stretch / 64, min(o.earliest), max(o.latest) FROM ops.outline AS o GROUP BY 1, 2;

CREATE OR REPLACE FUNCTION ops.take_in(place integer, most integer) RETURNS integer
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

    -- Its types are what processes of the former version look for.
    INSERT INTO ops.outline AS o (partition, stretch, types, sources, earliest, latest)
    SELECT place, (e.log_offset - 1) / 512, array_agg(DISTINCT e.type), array_agg(DISTINCT e.source), min(e.time), max(e.time)
    FROM bus.events AS e WHERE e.partition = place AND e.log_offset > after AND e.log_offset <= until
    GROUP BY 2
    ON CONFLICT (partition, stretch) DO UPDATE SET
        types = ARRAY(SELECT DISTINCT t FROM unnest(o.types || excluded.types) AS t),
        sources = ARRAY(SELECT DISTINCT s FROM unnest(o.sources || excluded.sources) AS s),
        earliest = least(o.earliest, excluded.earliest), latest = greatest(o.latest, excluded.latest);
    INSERT INTO ops.outline_types AS t (partition, type, stretch, first, last)
    SELECT place, e.type, (e.log_offset - 1) / 512, min(e.log_offset), max(e.log_offset)
    FROM bus.events AS e WHERE e.partition = place AND e.log_offset > after AND e.log_offset <= until
    GROUP BY 2, 3
    ON CONFLICT (partition, type, stretch) DO UPDATE SET
        first = least(t.first, excluded.first), last = greatest(t.last, excluded.last);
    INSERT INTO ops.outline_blocks AS b (partition, block, earliest, latest)
    SELECT place, (e.log_offset - 1) / 32768, min(e.time), max(e.time)
    FROM bus.events AS e WHERE e.partition = place AND e.log_offset > after AND e.log_offset <= until
    GROUP BY 2
    ON CONFLICT (partition, block) DO UPDATE SET
        earliest = least(b.earliest, excluded.earliest), latest = greatest(b.latest, excluded.latest);

    PERFORM ops.follow_devices(place, after, until);
    PERFORM ops.follow_apps(place, after, until);
    UPDATE bus.readers AS r SET log_offset = until WHERE r.partition = place AND r.reader = 'ops';
    RETURN until - after;
END $$;

-- Of the counts of minutes and of the outline of types at most 20,000 at a time: while it returns more than 0, there may be more.
-- Of the others there are few.
CREATE OR REPLACE FUNCTION ops.forget_days() RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog AS $$
DECLARE
    oldest date;
    minutes bigint;
    types bigint;
BEGIN
    SELECT min(d.day) INTO oldest FROM bus.days() AS d WHERE d.is_attached AND NOT d.is_detaching;
    DELETE FROM ops.counts_minutes AS c
    WHERE c.ctid = ANY (ARRAY(SELECT o.ctid FROM ops.counts_minutes AS o WHERE o.day < oldest LIMIT 20000));
    GET DIAGNOSTICS minutes = ROW_COUNT;
    DELETE FROM ops.counts AS c WHERE c.width <> 60 AND c.day < oldest;
    DELETE FROM ops.outline_types AS t
    WHERE t.ctid = ANY (ARRAY(
        SELECT o.ctid FROM bus.retention AS r
        JOIN ops.outline_types AS o ON o.partition = r.partition AND o.stretch < r.dropped_to / 512 LIMIT 20000));
    GET DIAGNOSTICS types = ROW_COUNT;
    DELETE FROM ops.outline AS o USING bus.retention AS r
    WHERE o.partition = r.partition AND o.stretch < r.dropped_to / 512;
    DELETE FROM ops.outline_blocks AS b USING bus.retention AS r
    WHERE b.partition = r.partition AND b.block < r.dropped_to / 32768;
    RETURN minutes + types;
END $$;
