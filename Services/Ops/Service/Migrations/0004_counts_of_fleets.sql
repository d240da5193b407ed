-- compatible
-- A window of several days has the counts of all fleets, and a reader may want those of one. The table of minutes needs no
-- such index: its windows are short.
CREATE INDEX counts_hours_partition_fleet_start_idx ON ops.counts_hours (partition, fleet, start);
CREATE INDEX counts_days_partition_fleet_start_idx ON ops.counts_days (partition, fleet, start);
