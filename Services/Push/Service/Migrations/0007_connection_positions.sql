-- Up to where the log of each partition was searched for connections that have no row.
CREATE TABLE push.connection_positions (
    partition integer NOT NULL,
    log_offset bigint NOT NULL,
    CONSTRAINT connection_positions_one PRIMARY KEY (partition)
) WITH (fillfactor = 50);
INSERT INTO push.connection_positions (partition, log_offset) SELECT partition, head FROM bus.partitions;
