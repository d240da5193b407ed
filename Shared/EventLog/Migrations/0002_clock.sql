-- Virtual time: the clock's row changes through these functions alone, each under the row's lock, so that time never goes
-- back whatever the rate becomes. Every change is announced on the channel of hints as `clock`.

ALTER TABLE bus.clock
    -- The rate at which a frozen clock goes on; while it runs, the same as `rate`.
    ADD COLUMN resumes_at double precision NOT NULL DEFAULT 1
        CONSTRAINT clock_resumes_at CHECK (resumes_at > 0 AND resumes_at <= 100000);

CREATE FUNCTION bus.real_now() RETURNS bigint LANGUAGE sql VOLATILE SET search_path = pg_catalog AS $$
    SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint
$$;

-- The suite's moment at a real one, in milliseconds. The same arithmetic as in the services.
CREATE FUNCTION bus.suite_time(real_moment bigint) RETURNS bigint LANGUAGE sql STABLE SET search_path = pg_catalog AS $$
    SELECT CASE WHEN is_virtual THEN virtual_epoch + floor(greatest(0, real_moment - real_epoch) * rate)::bigint
        ELSE real_moment END
    FROM bus.clock
$$;

-- The time in which nobody reached a consumer that was last served at a moment, up to when the first of its living members
-- began to live; null where one lives since then: it answered commands all the while, whoever held the lease. A second, more
-- than a member takes between two signs of life, is no outage yet.
CREATE FUNCTION bus.outage_since(who text, served_at timestamptz, served_time bigint) RETURNS int8range
LANGUAGE sql VOLATILE SET search_path = pg_catalog AS $$
    SELECT int8range(served_time, l.since_time)
    FROM (
        SELECT coalesce(min(m.since), clock_timestamp()) AS since,
            coalesce(min(m.since_time), bus.suite_time(bus.real_now())) AS since_time
        FROM bus.members AS m WHERE m.consumer = who
            -- Renewed each 700 ms, for 3 s: who has not for longer than 1.5 s may be dead, and serves nobody.
            AND m.expires >= clock_timestamp() + interval '1.5 seconds') AS l
    WHERE l.since > served_at + interval '1 second' AND l.since_time > served_time
$$;

-- Sets the rate, and whether the clock stands still; a null rate keeps the one that it has. False where time is real.
CREATE FUNCTION bus.set_clock(new_rate double precision, frozen boolean) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog AS $$
DECLARE
    moment bigint;
BEGIN
    PERFORM FROM bus.clock WHERE is_virtual FOR UPDATE;
    IF NOT FOUND THEN RETURN false; END IF;
    -- Taken once, and behind the lock: the old setting ends where the new one begins.
    moment := bus.real_now();
    UPDATE bus.clock SET virtual_epoch = bus.suite_time(moment), real_epoch = greatest(real_epoch, moment),
        resumes_at = coalesce(new_rate, resumes_at),
        rate = CASE WHEN frozen THEN 0 ELSE coalesce(new_rate, resumes_at) END;
    PERFORM pg_notify('dormouse', 'clock');
    RETURN true;
END $$;

-- Steps forward to a moment; a moment that is over changes nothing. Null where time is real, else the time after it.
CREATE FUNCTION bus.step_clock(until bigint) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog AS $$
DECLARE
    moment bigint;
    reached bigint;
BEGIN
    PERFORM FROM bus.clock WHERE is_virtual FOR UPDATE;
    IF NOT FOUND THEN RETURN NULL; END IF;
    moment := bus.real_now();
    reached := bus.suite_time(moment);
    IF until <= reached THEN RETURN reached; END IF;
    UPDATE bus.clock SET virtual_epoch = until, real_epoch = greatest(real_epoch, moment);
    PERFORM pg_notify('dormouse', 'clock');
    RETURN until;
END $$;

-- The registered consumers that keep states: the services with a machine.
CREATE FUNCTION bus.services() RETURNS SETOF text LANGUAGE sql STABLE SET search_path = pg_catalog AS $$
    SELECT DISTINCT c.consumer FROM bus.cursors AS c WHERE to_regclass(format('%I.states', c.consumer)) IS NOT NULL
$$;

-- The earliest deadline of each service that has one: all that whoever moves the clock may know of states. The deadlines of
-- parked keys don't fire, so nobody waits for them.
CREATE FUNCTION bus.deadlines() RETURNS TABLE (service text, deadline bigint)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog AS $$
BEGIN
    FOR service IN SELECT s FROM bus.services() AS s ORDER BY s LOOP
        -- The index begins with the partition, so each partition is asked for its own earliest.
        EXECUTE format(
            'SELECT min(s.next_deadline) FROM bus.partitions AS p, LATERAL (
                SELECT s.next_deadline FROM %I.states AS s
                WHERE s.partition = p.partition AND s.next_deadline IS NOT NULL AND NOT EXISTS (
                    SELECT FROM bus.dead_letters AS d
                    WHERE d.partition = p.partition AND d.consumer = $1 AND d.key = s.key)
                ORDER BY s.next_deadline LIMIT 1) AS s',
            service) INTO deadline USING service;
        IF deadline IS NOT NULL THEN RETURN NEXT; END IF;
    END LOOP;
END $$;

REVOKE ALL ON FUNCTION bus.set_clock(double precision, boolean) FROM PUBLIC;
REVOKE ALL ON FUNCTION bus.step_clock(bigint) FROM PUBLIC;
REVOKE ALL ON FUNCTION bus.deadlines() FROM PUBLIC;
