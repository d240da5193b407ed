-- compatible
-- The requests to erase the history of a device, and what `ops` keeps of its history.

-- Adds the requests of a batch of events with these types to bus.erasures. A repeated request erases what has come since.
CREATE OR REPLACE FUNCTION ops.note_erasures(partitions integer[], lows bigint[], highs bigint[], types text[]) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog AS $$
BEGIN
    IF NOT 'lifecycle.device.erased' = ANY (types) THEN RETURN; END IF;
    INSERT INTO bus.erasures AS r (partition, key, log_offset, requested_at)
    SELECT DISTINCT ON (b.partition, b.key) b.partition, b.key, b.log_offset, e.appended_at
    FROM ops.batch(partitions, lows, highs) AS b
    JOIN bus.events AS e ON e.partition = b.partition AND e.log_offset = b.log_offset AND e.day = b.day
    WHERE b.type = 'lifecycle.device.erased'
    ORDER BY b.partition, b.key, b.log_offset DESC
    ON CONFLICT (partition, key) DO UPDATE
        SET log_offset = excluded.log_offset, requested_at = excluded.requested_at, erased_at = NULL, waits_for = NULL
        WHERE r.log_offset < excluded.log_offset;
END $$;
REVOKE ALL ON FUNCTION ops.note_erasures(integer[], bigint[], bigint[], text[]) FROM PUBLIC;

-- Deletes the notifications of an erased history.
CREATE OR REPLACE FUNCTION ops.erase_device(erased_partition integer, erased_key text, up_to bigint, requested_at timestamptz)
RETURNS void LANGUAGE sql SET search_path = pg_catalog AS $$
    DELETE FROM ops.known_pushes AS p
    WHERE p.partition = erased_partition AND p.key = erased_key AND p.log_offset <= up_to
$$;
REVOKE ALL ON FUNCTION ops.erase_device(integer, text, bigint, timestamptz) FROM PUBLIC;
