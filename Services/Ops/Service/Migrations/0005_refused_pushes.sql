-- compatible
-- Pushes that APNs refused, although they named the token of a known device, are rows with the verdict `refused`. Their
-- status begins with 'Refused'. The log had no events of them before.

-- Returns whether a notification that has not arrived ended. One that the device has acknowledged waits for nothing but its
-- wake, unless it is held. PostgreSQL inlines this function and the next two.
CREATE OR REPLACE FUNCTION ops.push_ended(status text, acknowledged boolean, waking boolean) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN status LIKE 'Discarded%' OR status LIKE 'Refused%' OR status IN ('Replaced By', 'Device Removed')
    OR acknowledged AND NOT waking AND status NOT LIKE 'Held%' AND status NOT LIKE 'Stored%';

-- Returns the verdict on a push that counts as late after some milliseconds.
CREATE OR REPLACE FUNCTION ops.push_verdict(status text, sent_at bigint, arrived_at bigint, ended boolean, late_after bigint) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN status LIKE 'Refused%' THEN 'refused' WHEN arrived_at - sent_at > late_after THEN 'late'
    WHEN arrived_at IS NOT NULL THEN 'inTime' WHEN ended THEN 'never' ELSE 'pending' END;

-- Returns the reason for a verdict; null for 'inTime'.
CREATE OR REPLACE FUNCTION ops.push_why(verdict text, status text, wait text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE verdict WHEN 'late' THEN coalesce(wait, 'Device Answered Late') WHEN 'pending' THEN status
    WHEN 'refused' THEN status
    WHEN 'never' THEN CASE
        WHEN status LIKE 'Discarded%' OR status IN ('Replaced By', 'Device Removed') THEN status ELSE 'Not Shown' END END;

-- For the verdict `refused`.
CREATE INDEX known_pushes_refused_idx ON ops.known_pushes (partition, sent_at, log_offset) WHERE status LIKE 'Refused%';

-- Updates ops.known_pushes by a batch of events with these types. The result does not depend on the sizes of batches.
CREATE OR REPLACE FUNCTION ops.update_known_pushes(partitions integer[], lows bigint[], highs bigint[], types text[]) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog AS $$
DECLARE
    steps text[] := ARRAY(
        SELECT t FROM unnest(types) AS t
        WHERE t LIKE ANY (ARRAY['push.notification.%', 'push.wake.%'])
            AND t NOT IN ('push.notification.received', 'push.notification.refused'));
BEGIN
    IF types && ARRAY['push.notification.received', 'push.notification.refused'] THEN
        INSERT INTO ops.known_pushes AS p (partition, notification, log_offset, day, key, app, fleet, type, apns_id, channel,
            collapse_id, priority, for_user, sent_at, expires_at, status, event)
        SELECT e.partition, r.notification, e.log_offset, e.day, e.key, e.app,
            CASE WHEN e.registrations > 0 THEN e.fleet ELSE d.fleet END,
            CASE WHEN r.silent THEN 'silent' ELSE coalesce(r."pushType", 'alert') END,
            r."apnsID", r.channel, r."collapseID", coalesce(r.priority, 10), coalesce(r."forUser", false), e.time,
            round(extract(epoch FROM r.until) * 1000)::bigint,
            CASE e.type WHEN 'push.notification.refused' THEN coalesce(r.status, 'Refused') ELSE 'Received' END, e.id
        FROM (
            -- The latest registration in the batch before each notification has its fleet.
            SELECT r.*, first_value(r.data #>> '{registration,fleet}') OVER (
                PARTITION BY r.partition, r.key, r.registrations ORDER BY r.log_offset) AS fleet
            FROM (
                SELECT b.*, count(*) FILTER (WHERE b.type LIKE 'lifecycle.%') OVER (
                    PARTITION BY b.partition, b.key ORDER BY b.log_offset) AS registrations
                FROM ops.batch(partitions, lows, highs) AS b
                WHERE b.type IN (
                    'push.notification.received', 'push.notification.refused', 'lifecycle.device.registered',
                    'lifecycle.device.updated', 'lifecycle.device.deregistered')) AS r) AS e
        CROSS JOIN LATERAL json_to_record(e.data) AS r (
            notification text, "apnsID" text, channel text, "collapseID" text, "forUser" boolean, priority integer,
            "pushType" text, silent boolean, status text, until timestamptz)
        LEFT JOIN ops.known_devices AS d ON d.partition = e.partition AND d.key = e.key
        WHERE e.type LIKE 'push.%' AND r.notification IS NOT NULL
        ON CONFLICT (partition, notification) DO NOTHING;
    END IF;

    IF steps <> '{}' THEN
        -- The status, the cause and the wait are those up to the first arrival.
        UPDATE ops.known_pushes AS p SET
            day = greatest(p.day, s.day), delivered_at = coalesce(p.delivered_at, s.delivered_at),
            woke_at = coalesce(p.woke_at, s.woke_at), arrived_at = coalesce(p.arrived_at, s.arrived_at),
            shown_at = CASE WHEN p.for_user THEN coalesce(p.shown_at, s.shown_at) END,
            acknowledged = p.acknowledged OR s.acknowledged, waking = coalesce(s.waking, p.waking),
            status = CASE WHEN p.arrived_at IS NULL AND s.event IS NOT NULL THEN s.status ELSE p.status END,
            cause = CASE WHEN p.arrived_at IS NULL AND s.event IS NOT NULL THEN s.cause ELSE p.cause END,
            event = CASE WHEN p.arrived_at IS NULL AND s.event IS NOT NULL THEN s.event ELSE p.event END,
            wait = CASE WHEN p.arrived_at IS NULL AND s.wait_event IS NOT NULL THEN s.wait ELSE p.wait END,
            wait_event = CASE WHEN p.arrived_at IS NULL AND s.wait_event IS NOT NULL THEN s.wait_event ELSE p.wait_event END
        FROM (
            SELECT f.partition, f.notification, max(f.day) AS day,
                min(f.time) FILTER (WHERE f.type = 'push.notification.delivered') AS delivered_at,
                min(f.time) FILTER (WHERE f.type = 'push.wake.granted') AS woke_at,
                min(f.time) FILTER (WHERE f.arrives) AS arrived_at,
                min(f.time) FILTER (
                    WHERE f.arrives AND f.type IN ('push.notification.presented', 'push.notification.acknowledged'))
                    AS shown_at,
                bool_or(f.type = 'push.notification.acknowledged') AS acknowledged,
                (array_agg(f.type IN ('push.wake.requested', 'push.wake.granted') ORDER BY f.log_offset DESC)
                    FILTER (WHERE f.type LIKE 'push.wake.%'))[1] AS waking,
                (array_agg(f.status ORDER BY f.log_offset DESC) FILTER (WHERE f.decides))[1] AS status,
                (array_agg(f.cause ORDER BY f.log_offset DESC) FILTER (WHERE f.decides))[1] AS cause,
                (array_agg(f.id ORDER BY f.log_offset DESC) FILTER (WHERE f.decides))[1] AS event,
                (array_agg(f.status ORDER BY f.log_offset DESC) FILTER (WHERE f.decides AND f.waits))[1] AS wait,
                (array_agg(f.id ORDER BY f.log_offset DESC) FILTER (WHERE f.decides AND f.waits))[1] AS wait_event
            FROM (
                SELECT a.*, a.type IN ('push.notification.stored', 'push.notification.held') AS waits,
                    a.status IS NOT NULL AND a.log_offset
                        <= coalesce(min(a.log_offset) FILTER (WHERE a.arrives) OVER (PARTITION BY a.partition, a.notification),
                            a.log_offset) AS decides
                FROM (
                    SELECT e.partition, e.log_offset, e.day, e.id, e.type, e.time, d.notification, d.status,
                        coalesce(d.refusal, d."end", d.cause, d.by) AS cause,
                        e.type = 'push.notification.presented' OR coalesce(d.arrived, false)
                            OR e.type IN ('push.notification.modified', 'push.notification.unmodified')
                                AND coalesce(d."willPresent", false) AS arrives
                    FROM ops.batch(partitions, lows, highs) AS e
                    CROSS JOIN LATERAL json_to_record(e.data) AS d (
                        notification text, status text, refusal text, "end" text, cause text, by text, arrived boolean,
                        "willPresent" boolean)
                    WHERE e.type = ANY (steps)) AS a) AS f
            GROUP BY f.partition, f.notification) AS s
        WHERE p.partition = s.partition AND p.notification = s.notification;
    END IF;

    IF 'push.device.removed' = ANY (types) THEN
        UPDATE ops.known_pushes AS p SET day = greatest(p.day, r.day), status = 'Device Removed', cause = NULL, event = r.id
        FROM (
            SELECT e.*, coalesce(lag(e.log_offset) OVER (PARTITION BY e.partition, e.key ORDER BY e.log_offset), 0) AS earlier
            FROM ops.batch(partitions, lows, highs) AS e WHERE e.type = 'push.device.removed') AS r
        WHERE p.partition = r.partition AND p.key = r.key AND p.log_offset < r.log_offset AND p.log_offset > r.earlier
            AND p.arrived_at IS NULL AND NOT ops.push_ended(p.status, p.acknowledged, p.waking);
    END IF;
END $$;

CREATE OR REPLACE VIEW ops.pushes AS
SELECT to_timestamp(p.sent_at / 1000.0::double precision) AS sent_at, p.fleet, ops.device(p.key) AS device, p.app, p.notification,
    p.type, p.priority, p.collapse_id, p.channel, p.apns_id,
    to_timestamp(p.expires_at / 1000.0::double precision) AS expiration,
    to_timestamp(p.delivered_at / 1000.0::double precision) AS delivered_at,
    to_timestamp(p.woke_at / 1000.0::double precision) AS woke_at,
    to_timestamp(p.arrived_at / 1000.0::double precision) AS arrived_at,
    to_timestamp(p.shown_at / 1000.0::double precision) AS shown_at,
    (p.arrived_at - p.sent_at) / 1000.0::double precision AS delay, p.status AS outcome, p.cause, v.verdict,
    ops.push_why(v.verdict, p.status, p.wait) AS why, p.event, p.partition, p.log_offset
FROM ops.known_pushes AS p CROSS JOIN LATERAL (
    SELECT ops.push_verdict(p.status, p.sent_at, p.arrived_at, ops.push_ended(p.status, p.acknowledged, p.waking), 30000) AS verdict)
    AS v;
