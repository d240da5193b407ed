-- What is being uploaded to this service, and what was. The bytes are files of generated names; a row says which of them, and how
-- much of each, make up the upload.
CREATE TABLE transfer.uploads (
    partition integer NOT NULL,
    id text NOT NULL,
    -- Who began it, as logs call callers: nobody else but operators sees it.
    owner text NOT NULL,
    -- Counts the requests that have taken the upload. Whoever writes names the one it was given: an older one writes no more.
    epoch bigint NOT NULL,
    -- A writer has begun and has not ended in good order. It may still write to the last file, so another takes a new one.
    is_held boolean NOT NULL,
    received bigint NOT NULL,
    -- NULL until the client tells it.
    length bigint,
    is_complete boolean NOT NULL,
    -- Upload-Concat of tus, as it was sent.
    concatenation text,
    -- Upload-Metadata of tus, as it was sent.
    metadata text,
    content_type text,
    -- Each file is named here before it exists, so none is ever left over.
    files text[] NOT NULL,
    sizes bigint[] NOT NULL,
    -- Real time. NULL: complete, so it stays until it is deleted.
    expires_at timestamptz,
    -- Deleted or expired; the row tells so for a while.
    is_gone boolean NOT NULL,
    CONSTRAINT uploads_one PRIMARY KEY (partition, id),
    CONSTRAINT uploads_within_length CHECK (received <= length),
    CONSTRAINT uploads_sizes_of_files CHECK (cardinality(files) = cardinality(sizes))
);

CREATE INDEX uploads_expiring ON transfer.uploads (partition, expires_at);
