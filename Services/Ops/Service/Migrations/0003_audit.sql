-- What it takes to compare some states of a service, chosen by chance, with what the log makes of them: not the states themselves,
-- which the log alone may tell.
CREATE FUNCTION ops.state_digests(service text, place integer, many integer)
RETURNS TABLE (key text, digest bytea, machine_version integer, version bigint, event_count bigint, next_deadline bigint)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog AS $$
BEGIN
    IF NOT EXISTS (SELECT FROM bus.services() AS s WHERE s = service) THEN RETURN; END IF;
    RETURN QUERY EXECUTE format(
        'SELECT s.key, sha256(s.state), s.machine_version, s.version, s.event_count, s.next_deadline FROM %1$I.states AS s
        WHERE s.partition = $1 AND s.key IN (
            SELECT c.key FROM %1$I.states AS c WHERE c.partition = $1 ORDER BY random() LIMIT $2)',
        service) USING place, many;
END $$;
REVOKE ALL ON FUNCTION ops.state_digests(text, integer, integer) FROM PUBLIC;
