-- compatible
-- The target version of a service's stored states, and the version that all of them have reached. Retention waits while
-- they differ: an upgrade may have to fold a state from all its events.
CREATE TABLE bus.state_versions (
    partition integer NOT NULL,
    service text NOT NULL,
    wanted integer NOT NULL,
    reached integer NOT NULL,
    CONSTRAINT state_versions_one PRIMARY KEY (partition, service)
);
ALTER TABLE bus.state_versions ENABLE ROW LEVEL SECURITY;
CREATE POLICY state_versions_read ON bus.state_versions FOR SELECT USING (true);
CREATE POLICY state_versions_own ON bus.state_versions FOR UPDATE USING (current_user = 'dormouse_' || service);

-- The consumers that have not read a day to its end, and the services that still upgrade states. Dead letters do not
-- count: their events are kept.
CREATE OR REPLACE FUNCTION bus.day_readers(wanted date) RETURNS SETOF text LANGUAGE sql STABLE SET search_path = pg_catalog AS $$
    SELECT DISTINCT c.consumer FROM bus.cursors AS c
    WHERE c.log_offset < (SELECT max(e.log_offset) FROM bus.events AS e WHERE e.partition = c.partition AND e.day = wanted)
    UNION
    SELECT 'revocations' FROM bus.revocations_read AS r
    WHERE r.log_offset < (SELECT max(e.log_offset) FROM bus.events AS e WHERE e.partition = r.partition AND e.day = wanted)
    UNION
    SELECT r.reader FROM bus.readers AS r
    WHERE r.log_offset < (SELECT max(e.log_offset) FROM bus.events AS e WHERE e.partition = r.partition AND e.day = wanted)
    UNION
    SELECT v.service FROM bus.state_versions AS v WHERE v.reached < v.wanted
    ORDER BY 1
$$;
