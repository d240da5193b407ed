-- compatible
-- The erasure of histories. The events of a device keep their places in the log, and lose their content.

-- One row for each device whose history is or was erased. `ops` adds it when it counts lifecycle.device.erased. The upkeep
-- deletes old rows.
CREATE TABLE bus.erasures (
    partition integer NOT NULL,
    key text NOT NULL,
    -- The offset of the lifecycle.device.erased.
    log_offset bigint NOT NULL,
    -- Real time.
    requested_at timestamptz NOT NULL,
    -- Real time. Null until the history is erased.
    erased_at timestamptz,
    -- The part that the erasure waits for, such as `consumer push`. Null if it waits for nothing.
    waits_for text,
    -- The number of events that lost their content.
    events bigint NOT NULL DEFAULT 0,
    CONSTRAINT erasures_pkey PRIMARY KEY (partition, key)
);
CREATE INDEX erasures_requested_at_idx ON bus.erasures (requested_at) WHERE erased_at IS NULL;

-- Erases the history of one device: the content of its events up to the request and of the reactions to them, its
-- snapshots, and what services keep beside the log (their functions `erase_device`). Runs once all consumers and readers
-- have read these events. Returns what it waits for; null if this step is done.
--
-- The step `of_services` comes first, in a transaction of its own, and may be repeated. On Citus a worker commits before
-- the coordinator, which may end in between. So `erased_at` is set only after the data of services are gone. Both steps
-- name the offset of the request: if a later request has come meanwhile, the step does nothing.
--
-- Events without content stay, because readers of all services follow them: the end of a registration, and a revocation.
CREATE FUNCTION bus.erase(erased_partition integer, erased_key text, up_to bigint, of_services boolean) RETURNS text
LANGUAGE plpgsql SET search_path = pg_catalog AS $$
DECLARE
    request bus.erasures;
    waits text;
    targets bigint[];
    last bigint;
    changed bigint;
    kept bigint;
    of_service text;
    hook regprocedure;
BEGIN
    SELECT * INTO request FROM bus.erasures AS r
    WHERE r.partition = erased_partition AND r.key = erased_key AND r.log_offset = up_to AND r.erased_at IS NULL FOR UPDATE;
    IF NOT FOUND THEN RETURN 'another request'; END IF;

    -- A consumer that has read the request has committed its reactions to all earlier events.
    SELECT min('consumer ' || c.consumer) INTO waits FROM bus.cursors AS c
    WHERE c.partition = erased_partition AND c.log_offset < request.log_offset;
    IF waits IS NULL THEN
        SELECT min('dead letters of ' || d.consumer) INTO waits FROM bus.dead_letters AS d
        WHERE d.partition = erased_partition AND d.key = erased_key AND d.log_offset <= request.log_offset;
    END IF;
    IF waits IS NULL THEN
        -- The device may be registered again, so a later event counts only if an erased one caused it.
        WITH RECURSIVE later AS MATERIALIZED (
            SELECT e.id, e.causationid, e.log_offset FROM bus.events AS e
            WHERE e.partition = erased_partition AND e.key = erased_key AND e.log_offset > request.log_offset
        ), gone AS (
            SELECT e.id, e.log_offset FROM bus.events AS e
            WHERE e.partition = erased_partition AND e.key = erased_key AND e.log_offset <= request.log_offset
            UNION
            SELECT l.id, l.log_offset FROM gone AS g JOIN later AS l ON l.causationid = g.id
        )
        SELECT array_agg(g.log_offset), max(g.log_offset) INTO targets, last FROM gone AS g;
        -- The followers of revocations need only events that stay.
        SELECT min('reader ' || r.reader) INTO waits FROM bus.readers AS r
        WHERE r.partition = erased_partition AND r.log_offset < last;
    END IF;
    IF waits IS NOT NULL THEN
        UPDATE bus.erasures AS r SET waits_for = waits
        WHERE r.partition = erased_partition AND r.key = erased_key AND r.waits_for IS DISTINCT FROM waits;
        RETURN waits;
    END IF;

    -- The events still have their data, which names what services keep.
    IF of_services THEN
        FOR hook IN
            SELECT p.oid::regprocedure FROM pg_proc AS p JOIN pg_namespace AS n ON n.oid = p.pronamespace
            WHERE p.proname = 'erase_device' AND n.nspname IN (SELECT bus.services() UNION SELECT 'ops')
            ORDER BY n.nspname
        LOOP
            EXECUTE format('SELECT %s($1, $2, $3, $4)', hook::regproc)
            USING erased_partition, erased_key, request.log_offset, request.requested_at;
        END LOOP;
        RETURN NULL;
    END IF;

    UPDATE bus.events AS e
    SET type = 'log.event.erased', version = 1, app = NULL, traceparent = NULL, actor = NULL, data = '{}'
    WHERE e.partition = erased_partition AND e.log_offset = ANY (targets) AND e.type NOT IN (
        'log.event.erased', 'lifecycle.device.deregistered', 'lifecycle.device.revoked', 'lifecycle.device.erased',
        'fetch.device.removed', 'push.device.removed', 'push.device.erased', 'transfer.device.removed');
    GET DIAGNOSTICS changed = ROW_COUNT;
    -- The keys of requests begin with the caller. Answers to operators and fleets end after 24 hours.
    DELETE FROM bus.idempotency AS i WHERE i.partition = erased_partition AND starts_with(i.key, erased_key || ' ');
    DELETE FROM bus.kept_events AS k WHERE k.partition = erased_partition AND k.log_offset = ANY (targets);

    -- A history without its oldest events needs a base. The current state has nothing of the erased time.
    FOR of_service IN
        SELECT b.service FROM bus.snapshots AS b
        WHERE b.partition = erased_partition AND b.key = erased_key GROUP BY b.service HAVING bool_or(b.is_base)
    LOOP
        DELETE FROM bus.snapshots AS b
        WHERE b.partition = erased_partition AND b.key = erased_key AND b.service = of_service;
        EXECUTE format(
            'INSERT INTO bus.snapshots
                (partition, key, service, log_offset, machine_version, state, event_count, decided_at, is_base)
            SELECT s.partition, s.key, $3, s.version, s.machine_version, s.state, s.event_count, s.decided_at, true
            FROM %I.states AS s WHERE s.partition = $1 AND s.key = $2',
            of_service) USING erased_partition, erased_key, of_service;
    END LOOP;
    DELETE FROM bus.snapshots AS b WHERE b.partition = erased_partition AND b.key = erased_key AND NOT b.is_base;

    UPDATE bus.erasures AS r SET erased_at = statement_timestamp(), waits_for = NULL, events = r.events + changed
    WHERE r.partition = erased_partition AND r.key = erased_key;
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION bus.erase(integer, text, bigint, boolean) FROM PUBLIC;
