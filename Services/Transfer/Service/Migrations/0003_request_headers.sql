-- The `Authorization` and `Cookie` fields of the requests of tasks. The log has only their id. A row is deleted when its
-- task ends.
CREATE TABLE transfer.request_headers (
    partition integer NOT NULL,
    device text NOT NULL,
    -- The id in the request of the task.
    id text NOT NULL,
    app text NOT NULL,
    fields bytea NOT NULL,
    -- Real time.
    stored_at timestamptz NOT NULL,
    CONSTRAINT request_headers_pkey PRIMARY KEY (partition, device, id)
);
