-- What SQL tools read: stable, documented, and all that the role `dashboards` can see.

-- Lets a condition on a view's time skip the blocks of other times.
CREATE INDEX events_moment ON bus.events USING brin (to_timestamp(time / 1000.0::double precision))
    WITH (pages_per_range = 32, autosummarize = on);

-- The devices of the suite, as `device` of the views.
CREATE FUNCTION ops.device(key text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog AS $$
    SELECT CASE WHEN key LIKE 'device:%' THEN substr(key, 8) END
$$;

CREATE VIEW ops.events AS
SELECT to_timestamp(e.time / 1000.0::double precision) AS time, e.type, e.source AS service, ops.device(e.key) AS device, e.app,
    e.data, e.id, e.partition, e.log_offset, e.correlationid AS correlation_id, e.causationid AS causation_id, e.appended_at
FROM bus.events AS e;
COMMENT ON VIEW ops.events IS 'Every event of the log, as far as it goes back. time is the suite''s, appended_at real.';

CREATE VIEW ops.devices AS
SELECT ops.device(d.key) AS device, d.profile, d.fleet, d.powered, to_timestamp(d.registered_at / 1000.0::double precision) AS registered_at
FROM ops.known_devices AS d;
COMMENT ON VIEW ops.devices IS 'The registered devices, as they are now.';

CREATE VIEW ops.app_states AS
SELECT ops.device(a.key) AS device, a.app, a.state, to_timestamp(a.since / 1000.0::double precision) AS since
FROM ops.known_apps AS a;
COMMENT ON VIEW ops.app_states IS 'The installed apps, the state that each is in now, and since when.';

CREATE VIEW ops.wakes AS
SELECT e.time, e.device, e.app, e.type = 'lifecycle.app.woken' AS granted, e.data ->> 'reason' AS reason,
    e.data ->> 'kind' AS kind, e.data ->> 'refusal' AS refusal, e.data ->> 'wake' AS wake, e.data ->> 'request' AS request, e.id
FROM ops.events AS e WHERE e.type IN ('lifecycle.app.woken', 'lifecycle.wake.refused');
COMMENT ON VIEW ops.wakes IS 'Each wake of an app in the background: granted, or why not.';

CREATE VIEW ops.notifications AS
SELECT e.time, e.device, e.app, e.data ->> 'notification' AS notification, e.data ->> 'status' AS status,
    e.data ->> 'pushType' AS push_type, coalesce(e.data ->> 'refusal', e.data ->> 'cause', e.data ->> 'by') AS cause, e.id
FROM ops.events AS e WHERE e.type LIKE 'push.%' AND e.data ->> 'status' IS NOT NULL;
COMMENT ON VIEW ops.notifications IS 'What became of each notification, step by step, in the words of Apple''s console.';

CREATE VIEW ops.transfers AS
SELECT e.time, e.device, e.app, e.data ->> 'session' AS session, (e.data ->> 'task')::bigint AS task,
    coalesce(e.data ->> 'kind', 'download') AS kind, (e.data ->> 'bytesReceived')::bigint AS bytes_received,
    (e.data ->> 'bytesSent')::bigint AS bytes_sent, (e.data ->> 'status')::integer AS status,
    e.data #>> '{error,code}' AS error, e.data ->> 'sha256' AS sha256, e.id
FROM ops.events AS e WHERE e.type = 'transfer.task.completed';
COMMENT ON VIEW ops.transfers IS 'The tasks of background sessions that are over, with or without an error.';

CREATE VIEW ops.rates AS
SELECT to_timestamp(c.start) AS time, c.width AS seconds, c.type, c.label, sum(c.events)::bigint AS events, sum(c.amount) AS amount
FROM ops.counts AS c GROUP BY c.start, c.width, c.type, c.label;
COMMENT ON VIEW ops.rates IS
    'How many events of a type there were in each minute, hour and day (seconds is 60, 3600 or 86400: ask for one of them). label tells events of one type apart; amount is in bytes.';
