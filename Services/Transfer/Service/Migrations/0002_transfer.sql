-- What can be downloaded from this service. The bytes are files of generated names; a row says which file a path has now.
CREATE TABLE transfer.contents (
    partition integer NOT NULL,
    path text NOT NULL,
    file text NOT NULL,
    size bigint NOT NULL,
    sha256 text NOT NULL,
    sha512 text NOT NULL,
    content_type text NOT NULL,
    -- Real time, whole seconds in milliseconds since 1970: what Last-Modified can tell.
    modified_at bigint NOT NULL,
    CONSTRAINT contents_one PRIMARY KEY (partition, path)
);

-- The processes that move bytes, with their leases in real time by the database's clock. A mover whose lease has run out is
-- dead: others take its attempts over. A few rows that are written every few seconds, so it needs no partition.
CREATE TABLE transfer.movers (
    mover uuid NOT NULL,
    expires_at timestamptz NOT NULL,
    CONSTRAINT movers_one PRIMARY KEY (mover)
);
