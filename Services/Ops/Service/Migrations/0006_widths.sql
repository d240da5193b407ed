-- Counts of each width lie apart: of hours there are few, and between those of minutes each would be on a page of its own.

-- In the order of its readers: the view first, then what it reads.
LOCK TABLE ops.rates IN ACCESS EXCLUSIVE MODE;
ALTER TABLE ops.counts RENAME TO counts_minutes;
ALTER TABLE ops.counts_minutes RENAME CONSTRAINT counts_one TO counts_minutes_one;
ALTER INDEX ops.counts_day RENAME TO counts_minutes_day;
ALTER INDEX ops.counts_time RENAME TO counts_minutes_time;

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
) PARTITION BY LIST (width);
CREATE INDEX counts_day ON ops.counts (day);
-- For the view of rates.
CREATE INDEX counts_time ON ops.counts (width, to_timestamp(start));

-- Those who read meanwhile wait no longer than this takes.
GRANT SELECT ON ops.counts TO dormouse_ops;

CREATE TABLE ops.counts_hours PARTITION OF ops.counts FOR VALUES IN (3600) WITH (fillfactor = 70);
CREATE TABLE ops.counts_days PARTITION OF ops.counts FOR VALUES IN (86400) WITH (fillfactor = 70);
WITH wide AS (DELETE FROM ops.counts_minutes AS m WHERE m.width <> 60 RETURNING m.*)
INSERT INTO ops.counts SELECT * FROM wide ORDER BY start;
ALTER TABLE ops.counts ATTACH PARTITION ops.counts_minutes FOR VALUES IN (60);

CREATE OR REPLACE VIEW ops.rates AS
SELECT to_timestamp(c.start) AS time, c.width AS seconds, c.type, c.label, sum(c.events)::bigint AS events, sum(c.amount) AS amount
FROM ops.counts AS c GROUP BY c.start, c.width, c.type, c.label;

-- Of the counts of minutes at most 20,000 at a time: whoever gets as many comes again. Of the others there are few.
CREATE OR REPLACE FUNCTION ops.forget_days() RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog AS $$
DECLARE
    oldest date;
    gone bigint;
BEGIN
    SELECT min(d.day) INTO oldest FROM bus.days() AS d WHERE d.is_attached AND NOT d.is_detaching;
    DELETE FROM ops.counts_minutes AS c
    WHERE c.ctid = ANY (ARRAY(SELECT o.ctid FROM ops.counts_minutes AS o WHERE o.day < oldest LIMIT 20000));
    GET DIAGNOSTICS gone = ROW_COUNT;
    DELETE FROM ops.counts AS c WHERE c.width <> 60 AND c.day < oldest;
    DELETE FROM ops.outline AS o USING bus.retention AS r
    WHERE o.partition = r.partition AND o.stretch < r.dropped_to / 512;
    RETURN gone;
END $$;
