-- The tables of `transfer` beside the states. All bytes are in files with generated names.

-- The downloadable content. A row has the current file of a path.
CREATE TABLE transfer.contents (
    partition integer NOT NULL,
    path text NOT NULL,
    file text NOT NULL,
    size bigint NOT NULL,
    sha256 text NOT NULL,
    content_type text NOT NULL,
    -- Real time in milliseconds since 1970, in whole seconds as in Last-Modified.
    modified_at bigint NOT NULL,
    CONSTRAINT contents_pkey PRIMARY KEY (partition, path)
);
-- The sweep looks for files on disk that have no path.
CREATE INDEX contents_file_idx ON transfer.contents (file);

-- The workers that move bytes, and their leases in real time by the clock of the database. A worker whose lease has
-- expired is dead, and others take over its attempts. The table has few rows, so it needs no partition.
CREATE TABLE transfer.workers (
    worker uuid NOT NULL,
    expires_at timestamptz NOT NULL,
    CONSTRAINT workers_pkey PRIMARY KEY (worker)
);

-- The uploads to this service. A row has the files of an upload and the number of its bytes in each.
CREATE TABLE transfer.uploads (
    partition integer NOT NULL,
    id text NOT NULL,
    -- The creator, with the name of a caller in logs. Only the creator and operators see the upload.
    owner text NOT NULL,
    -- The fleet of the creator. NULL for an operator.
    fleet text,
    -- The fence of writers: each request that takes the upload increments it, and writers with an older epoch fail.
    epoch bigint NOT NULL,
    -- A writer has begun and has not ended properly. It may still write to the last file, so the next writer uses a new
    -- one.
    is_held boolean NOT NULL,
    received bigint NOT NULL,
    -- NULL until the client sends it.
    length bigint,
    is_complete boolean NOT NULL,
    -- Upload-Concat of tus, as received.
    concatenation text,
    -- Upload-Metadata of tus, as received.
    metadata text,
    content_type text,
    -- A file is listed here before it is created, so the sweep finds every file.
    files text[] NOT NULL,
    sizes bigint[] NOT NULL,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    -- Real time. NULL for a complete upload, which stays until it is deleted.
    expires_at timestamptz,
    -- Deleted or expired. The row stays for a while, so that requests get a clear answer.
    is_deleted boolean NOT NULL,
    -- Its files are not kept in the trash, because the history of its device is erased.
    is_erased boolean NOT NULL DEFAULT false,
    CONSTRAINT uploads_pkey PRIMARY KEY (partition, id),
    CONSTRAINT uploads_received_check CHECK (received <= length),
    CONSTRAINT uploads_sizes_check CHECK (cardinality(files) = cardinality(sizes))
);
CREATE INDEX uploads_partition_expires_at_idx ON transfer.uploads (partition, expires_at);
-- For the quota of an owner.
CREATE INDEX uploads_owner_idx ON transfer.uploads (owner) WHERE NOT is_deleted;

-- For the quota of a fleet: the bytes of all its uploads, with those of its devices. An upload counts with its length, or
-- with its received bytes before the length is known.
CREATE TABLE transfer.upload_bytes (
    fleet text NOT NULL,
    bytes bigint NOT NULL,
    CONSTRAINT upload_bytes_pkey PRIMARY KEY (fleet)
);

-- Keeps transfer.upload_bytes exact. The fleets are in order, so that two changes can't wait for each other.
CREATE FUNCTION transfer.count_upload_bytes() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog AS $$
BEGIN
    IF TG_OP = 'INSERT' THEN
        INSERT INTO transfer.upload_bytes AS b (fleet, bytes)
        SELECT n.fleet, sum(coalesce(n.length, n.received)) FROM new_rows AS n
        WHERE n.fleet IS NOT NULL AND NOT n.is_deleted GROUP BY n.fleet ORDER BY n.fleet
        ON CONFLICT (fleet) DO UPDATE SET bytes = b.bytes + excluded.bytes;
    ELSE
        INSERT INTO transfer.upload_bytes AS b (fleet, bytes)
        SELECT c.fleet, sum(c.bytes) FROM (
            SELECT n.fleet, coalesce(n.length, n.received) FROM new_rows AS n WHERE NOT n.is_deleted
            UNION ALL
            SELECT o.fleet, -coalesce(o.length, o.received) FROM old_rows AS o WHERE NOT o.is_deleted
        ) AS c (fleet, bytes)
        WHERE c.fleet IS NOT NULL GROUP BY c.fleet HAVING sum(c.bytes) <> 0 ORDER BY c.fleet
        ON CONFLICT (fleet) DO UPDATE SET bytes = b.bytes + excluded.bytes;
    END IF;
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION transfer.count_upload_bytes() FROM PUBLIC;
CREATE TRIGGER uploads_insert AFTER INSERT ON transfer.uploads REFERENCING NEW TABLE AS new_rows
    FOR EACH STATEMENT EXECUTE FUNCTION transfer.count_upload_bytes();
CREATE TRIGGER uploads_update AFTER UPDATE ON transfer.uploads REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows
    FOR EACH STATEMENT EXECUTE FUNCTION transfer.count_upload_bytes();

-- The credentials with which apps answered challenges. The log has only the fact of the answer. A row is deleted when no
-- session needs it.
CREATE TABLE transfer.credentials (
    partition integer NOT NULL,
    device text NOT NULL,
    challenge text NOT NULL,
    credential bytea NOT NULL,
    -- Real time.
    stored_at timestamptz NOT NULL,
    CONSTRAINT credentials_pkey PRIMARY KEY (partition, device, challenge)
);
