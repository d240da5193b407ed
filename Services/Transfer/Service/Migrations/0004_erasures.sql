-- compatible
-- The files of devices whose history is erased. A sweep removes them from the disk, and from the trash.
CREATE TABLE transfer.erased_files (
    partition integer NOT NULL,
    -- The name of a file, or its begin: the files of a task have its name and the number of an attempt.
    name text NOT NULL,
    erased_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT erased_files_pkey PRIMARY KEY (partition, name)
);

-- Deletes the uploads of a device whose history is erased, and notes the files of its apps and tasks. Sweeps remove the
-- files. The caller is the owner of the log, whose events still have their data.
CREATE FUNCTION transfer.erase_device(erased_partition integer, erased_key text, up_to bigint, requested_at timestamptz)
RETURNS void LANGUAGE plpgsql SET search_path = pg_catalog AS $$
BEGIN
    UPDATE transfer.uploads AS u
    SET epoch = u.epoch + 1, is_deleted = true, is_erased = true, expires_at = least(u.expires_at, now()),
        metadata = NULL, concatenation = NULL, content_type = NULL
    WHERE u.owner = erased_key AND u.created_at <= requested_at;

    WITH e AS (
        SELECT type, data FROM bus.events
        WHERE partition = erased_partition AND key = erased_key AND log_offset <= up_to
            AND type IN ('transfer.task.created', 'transfer.file.stored')
    ), found AS (
        SELECT e.data ->> 'file' AS name FROM e WHERE e.type = 'transfer.task.created'
        UNION
        SELECT piece ->> 'name' FROM e, json_array_elements(
            CASE e.type WHEN 'transfer.task.created' THEN e.data -> 'body' ELSE e.data -> 'file' END -> 'pieces') AS piece
    )
    INSERT INTO transfer.erased_files (partition, name)
    SELECT erased_partition, found.name FROM found WHERE found.name <> '' ON CONFLICT DO NOTHING;
END $$;
REVOKE ALL ON FUNCTION transfer.erase_device(integer, text, bigint, timestamptz) FROM PUBLIC;
