-- However events fall into batches, devices and apps are as one event after the other would have made them.

CREATE OR REPLACE FUNCTION ops.follow_devices(place integer, after bigint, until bigint) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog AS $$
BEGIN
    DELETE FROM ops.known_devices AS d
    USING bus.events AS e
    WHERE e.partition = place AND e.log_offset > after AND e.log_offset <= until AND e.type = 'lifecycle.device.deregistered'
        AND d.partition = place AND d.key = e.key;

    -- What was told of a device before it left within the batch is not of the one that came after.
    INSERT INTO ops.known_devices AS d (partition, key, profile, fleet, registered_at)
    SELECT DISTINCT ON (e.key) place, e.key, e.data #>> '{registration,profile}', e.data #>> '{registration,fleet}',
        min(e.time) OVER (PARTITION BY e.key)
    FROM bus.events AS e
    WHERE e.partition = place AND e.log_offset > after AND e.log_offset <= until
        AND e.type IN ('lifecycle.device.registered', 'lifecycle.device.updated')
        AND NOT EXISTS (
            SELECT FROM bus.events AS g
            WHERE g.partition = place AND g.key = e.key AND g.log_offset > e.log_offset AND g.log_offset <= until
                AND g.type = 'lifecycle.device.deregistered')
    ORDER BY e.key, e.log_offset DESC
    ON CONFLICT (partition, key) DO UPDATE SET profile = excluded.profile, fleet = excluded.fleet;

    UPDATE ops.known_devices AS d SET powered = p.powered
    FROM (
        SELECT DISTINCT ON (e.key) e.key, e.data ->> 'power' <> 'off' AS powered FROM bus.events AS e
        WHERE e.partition = place AND e.log_offset > after AND e.log_offset <= until AND e.type = 'lifecycle.device.powered'
            AND NOT EXISTS (
                SELECT FROM bus.events AS g
                WHERE g.partition = place AND g.key = e.key AND g.log_offset > e.log_offset AND g.log_offset <= until
                    AND g.type = 'lifecycle.device.deregistered')
        ORDER BY e.key, e.log_offset DESC) AS p
    WHERE d.partition = place AND d.key = p.key;
END $$;

CREATE OR REPLACE FUNCTION ops.follow_apps(place integer, after bigint, until bigint) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog AS $$
BEGIN
    DELETE FROM ops.known_apps AS a
    USING bus.events AS e
    WHERE e.partition = place AND e.log_offset > after AND e.log_offset <= until
        AND e.type IN ('lifecycle.app.uninstalled', 'lifecycle.device.deregistered')
        AND a.partition = place AND a.key = e.key AND (e.app IS NULL OR a.app = e.app);

    -- Installing an app over itself leaves its state alone: what it changes has an event of its own.
    INSERT INTO ops.known_apps AS a (partition, key, app, state, since)
    SELECT DISTINCT ON (e.key, e.app) place, e.key, e.app, 'notRunning', e.time
    FROM bus.events AS e
    WHERE e.partition = place AND e.log_offset > after AND e.log_offset <= until AND e.type = 'lifecycle.app.installed'
        AND NOT EXISTS (
            SELECT FROM bus.events AS g
            WHERE g.partition = place AND g.key = e.key AND g.log_offset > e.log_offset AND g.log_offset <= until
                AND g.type IN ('lifecycle.app.uninstalled', 'lifecycle.device.deregistered')
                AND (g.app IS NULL OR g.app = e.app))
    ORDER BY e.key, e.app, e.log_offset
    ON CONFLICT (partition, key, app) DO NOTHING;

    -- Since when: the last event that told of another state than the one before it. The first of the batch is held against
    -- what was known.
    UPDATE ops.known_apps AS a SET state = s.state, since = s.time
    FROM (
        SELECT DISTINCT ON (t.key, t.app) t.key, t.app, t.state, t.time, t.log_offset FROM (
            SELECT e.key, e.app, e.data ->> 'state' AS state, e.time, e.log_offset,
                lag(e.data ->> 'state', 1, coalesce(k.state, '')) OVER (PARTITION BY e.key, e.app ORDER BY e.log_offset) AS former
            FROM bus.events AS e LEFT JOIN ops.known_apps AS k ON k.partition = place AND k.key = e.key AND k.app = e.app
            WHERE e.partition = place AND e.log_offset > after AND e.log_offset <= until AND e.type LIKE 'lifecycle.app.%'
                AND e.data ->> 'state' IS NOT NULL
                -- A device that left and came back within the batch has other apps, whatever they are called.
                AND NOT EXISTS (
                    SELECT FROM bus.events AS g
                    WHERE g.partition = place AND g.log_offset > e.log_offset AND g.log_offset <= until AND g.key = e.key
                        AND g.type IN ('lifecycle.app.uninstalled', 'lifecycle.device.deregistered')
                        AND (g.app IS NULL OR g.app = e.app))) AS t
        WHERE t.state <> t.former
        ORDER BY t.key, t.app, t.log_offset DESC) AS s
    WHERE a.partition = place AND a.key = s.key AND a.app = s.app;
END $$;
