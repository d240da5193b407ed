-- What apps answered challenges with. The log tells that there was an answer; what it was is here alone, and goes when no session
-- needs it any more.
CREATE TABLE transfer.credentials (
    partition integer NOT NULL,
    device text NOT NULL,
    -- The challenge that it was the answer to.
    challenge text NOT NULL,
    credential bytea NOT NULL,
    -- Real time.
    stored_at timestamptz NOT NULL,
    CONSTRAINT credentials_one PRIMARY KEY (partition, device, challenge)
);
