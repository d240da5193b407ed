-- compatible
-- Ends idle sessions that block the log, and frees their locks.
--
-- The server does not do that itself. Neither idle_in_transaction_session_timeout nor statement_timeout runs while it
-- waits for the rest of a pipeline, and transaction_timeout came with version 17. So a client that stops in the middle
-- of a flight holds its partition's head for all services, until a waiting service calls this function.
--
-- It ends only sessions of the suite's own roles, and of those only a session that
--   - blocks another session now, at a row or a table of the log,
--   - does not wait for a lock itself,
--   - has been idle for the given time, at least a second. A working session gets three times as long: it may be slow, but by then its
--     client has given up.
--
-- Returns a row for each of them. `ended` is false if the function's owner lacks the rights of the session's role.
CREATE FUNCTION bus.end_blockers(patience double precision) RETURNS TABLE (pid integer, role text, ended boolean)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog AS $$
DECLARE
    blocker record;
BEGIN
    IF NOT (pg_has_role('pg_read_all_stats', 'USAGE') AND pg_has_role('pg_signal_backend', 'USAGE')) THEN
        RAISE insufficient_privilege USING
            MESSAGE = format('%I can''t end sessions that hold up the log', current_user),
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
            AND b.pid = blocking.pid AND b.datname = current_database() AND b.usename ^@ 'dormouse_'
            AND b.wait_event_type IS DISTINCT FROM 'Lock'
            AND b.state_change < clock_timestamp()
                - make_interval(secs => greatest(patience, 1) * CASE WHEN b.wait_event_type = 'Client' THEN 1 ELSE 3 END)
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

-- As before, but without members that no current clock can have renewed. After a failover to a server with a slow
-- clock, such a member would otherwise seem alive.
CREATE OR REPLACE FUNCTION bus.outage_since(who text, served_at timestamptz, served_time bigint) RETURNS int8range
LANGUAGE sql VOLATILE SET search_path = pg_catalog AS $$
    SELECT int8range(served_time, l.since_time)
    FROM (
        SELECT coalesce(min(m.since), clock_timestamp()) AS since,
            coalesce(min(m.since_time), bus.suite_time(bus.real_now())) AS since_time
        FROM bus.members AS m WHERE m.consumer = who
            -- Renewed each 700 ms, for 3 s: a member without renewal for 1.5 s may be dead, and serves nobody.
            AND m.expires BETWEEN clock_timestamp() + interval '1.5 seconds' AND clock_timestamp() + interval '6 seconds'
        ) AS l
    WHERE l.since > served_at + interval '1 second' AND l.since_time > served_time
$$;
