-- Who reads every event of the log without being a consumer: it decides nothing and is waited for by nobody but the upkeep,
-- which keeps for it what it has not read.
CREATE TABLE bus.readers (
    partition integer NOT NULL,
    reader text NOT NULL,
    -- Everything up to here was taken in.
    log_offset bigint NOT NULL DEFAULT 0,
    CONSTRAINT readers_one PRIMARY KEY (partition, reader)
) WITH (fillfactor = 50);

CREATE OR REPLACE FUNCTION bus.day_readers(wanted date) RETURNS SETOF text LANGUAGE sql STABLE SET search_path = pg_catalog AS $$
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
    UNION
    SELECT r.reader FROM bus.readers AS r
    WHERE r.log_offset < (SELECT max(e.log_offset) FROM bus.events AS e WHERE e.partition = r.partition AND e.day = wanted)
    ORDER BY 1
$$;
