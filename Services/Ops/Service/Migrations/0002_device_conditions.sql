-- compatible
-- Some conditions of each device, for filters of the list of devices. A null is unknown: the log has neither the
-- registration of the device nor an event that reports the condition. No filter selects it.
ALTER TABLE ops.known_devices
    ADD COLUMN locked boolean,
    ADD COLUMN low_power_mode boolean,
    ADD COLUMN charging boolean,
    -- From 0 to 1.
    ADD COLUMN battery_level double precision;

-- Updates the conditions of ops.known_devices by a batch of events. Each condition has the value of the last event that
-- reports it, so the result does not depend on the sizes of batches.
CREATE FUNCTION ops.update_known_conditions(partitions integer[], lows bigint[], highs bigint[]) RETURNS void
LANGUAGE sql
BEGIN ATOMIC
    UPDATE ops.known_devices AS d SET
        locked = coalesce(c.locked, d.locked), low_power_mode = coalesce(c.low_power_mode, d.low_power_mode),
        charging = coalesce(c.charging, d.charging), battery_level = coalesce(c.battery_level, d.battery_level)
    FROM (
        SELECT e.partition, e.key,
            (array_agg(r.locked ORDER BY e.log_offset DESC) FILTER (WHERE r.locked IS NOT NULL))[1] AS locked,
            (array_agg(r."lowPowerMode" ORDER BY e.log_offset DESC) FILTER (WHERE r."lowPowerMode" IS NOT NULL))[1]
                AS low_power_mode,
            (array_agg(b.charging ORDER BY e.log_offset DESC) FILTER (WHERE b.charging IS NOT NULL))[1] AS charging,
            (array_agg(b.level ORDER BY e.log_offset DESC) FILTER (WHERE b.level IS NOT NULL))[1] AS battery_level
        FROM ops.current_batch(partitions, lows, highs, ARRAY['lifecycle.conditions.changed']) AS e
        CROSS JOIN LATERAL json_to_record(e.data -> 'conditions') AS r (locked boolean, "lowPowerMode" boolean, battery json)
        LEFT JOIN LATERAL json_to_record(r.battery) AS b (charging boolean, level double precision) ON true
        GROUP BY 1, 2) AS c
    WHERE d.partition = c.partition AND d.key = c.key;
END;

-- The registered devices get the conditions of a new device if the log has their registration, then the latest ones that
-- the log has. This reads the log once.
UPDATE ops.known_devices AS d SET locked = false, low_power_mode = false, charging = false, battery_level = 1
WHERE (d.partition, d.key) IN (
    SELECT e.partition, e.key COLLATE "C" FROM bus.events AS e WHERE e.type = 'lifecycle.device.registered');
DO $$ BEGIN
    PERFORM ops.update_known_conditions(
        array_agg(r.partition), array_agg(coalesce(t.dropped_to, 0)), array_agg(r.log_offset))
    FROM bus.readers AS r LEFT JOIN bus.retention AS t USING (partition) WHERE r.reader = 'ops';
END $$;

-- A new device is unlocked, fully charged and unplugged. Conditions change often, and no index has them, so free space in
-- the pages keeps the updates cheap.
ALTER TABLE ops.known_devices
    ALTER COLUMN locked SET DEFAULT false,
    ALTER COLUMN low_power_mode SET DEFAULT false,
    ALTER COLUMN charging SET DEFAULT false,
    ALTER COLUMN battery_level SET DEFAULT 1,
    SET (fillfactor = 70);

-- Counting calls ops.update_known_devices.
ALTER FUNCTION ops.update_known_devices(integer[], bigint[], bigint[], text[]) RENAME TO update_registered_devices;
CREATE FUNCTION ops.update_known_devices(partitions integer[], lows bigint[], highs bigint[], types text[]) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog AS $$
BEGIN
    PERFORM ops.update_registered_devices(partitions, lows, highs, types);
    IF 'lifecycle.conditions.changed' = ANY (types) THEN
        PERFORM ops.update_known_conditions(partitions, lows, highs);
    END IF;
END $$;

CREATE OR REPLACE VIEW ops.devices AS
SELECT ops.device(d.key) AS device, d.profile, d.fleet, d.powered,
    to_timestamp(d.registered_at / 1000.0::double precision) AS registered_at, d.locked, d.low_power_mode, d.charging,
    d.battery_level
FROM ops.known_devices AS d;
