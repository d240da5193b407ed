-- How many times notifications came to each status, by the hour of the suite's clock. A projection of the log.
CREATE TABLE push.notification_counts (
    partition integer NOT NULL,
    -- Hours since 1970.
    hour bigint NOT NULL,
    app text NOT NULL,
    push_type text NOT NULL,
    status text NOT NULL,
    n bigint NOT NULL,
    CONSTRAINT notification_counts_one PRIMARY KEY (partition, hour, app, push_type, status)
);

-- Up to where the log of each partition is counted. Moves in the transaction that counts, so each event counts once.
CREATE TABLE push.count_positions (
    partition integer NOT NULL,
    log_offset bigint NOT NULL DEFAULT 0,
    CONSTRAINT count_positions_one PRIMARY KEY (partition)
) WITH (fillfactor = 50);
INSERT INTO push.count_positions (partition) SELECT partition FROM bus.partitions;
