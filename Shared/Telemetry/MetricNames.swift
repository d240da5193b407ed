/// The metrics that every service has.
extension Metric {
    public static let requests = Metric(
        "dormouse_http_requests_total", "Answered requests, by method, route and status.", .counter)
    public static let requestSeconds = Metric(
        "dormouse_http_request_duration_seconds", "Seconds from a request's head to its answer's head, by route.",
        .histogram([0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]))
    public static let requestsInFlight = Metric(
        "dormouse_http_requests_in_flight", "Requests in progress.", .gauge)
    public static let authFailures = Metric(
        "dormouse_auth_failures_total",
        "Requests refused for their credential, by reason: invalid, or limited after too many failures of the address.",
        .counter)
    public static let streamsOpen = Metric("dormouse_http_streams_open", "Open streams of server-sent events.", .gauge)

    public static let databaseConnections = Metric(
        "dormouse_database_connections", "Connections of the pool to PostgreSQL, by state: idle or used.", .gauge)
    public static let databaseConnectionsLimit = Metric(
        "dormouse_database_connections_limit", "The most connections of the pool (DATABASE_POOL_SIZE).", .gauge)
    public static let databaseWaiting = Metric(
        "dormouse_database_waiting", "Callers that wait for a connection of the pool.", .gauge)
    public static let databaseWaitSeconds = Metric(
        "dormouse_database_wait_seconds",
        "Seconds for which callers waited for a connection of the pool, of those that waited.",
        .histogram([0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]))
    public static let commitSeconds = Metric(
        "dormouse_commit_duration_seconds",
        "Seconds from the statements that write the events of a transaction to the answer to its COMMIT.",
        .histogram([0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]))
    public static let commitsFailed = Metric(
        "dormouse_commits_failed_total", "Transactions that failed at these statements.", .counter)
    public static let commitsAssumed = Metric(
        "dormouse_commits_assumed_total", "Commits of batches that were decided without a read of the database.",
        .counter)
    public static let eventsWritten = Metric(
        "dormouse_events_written_total", "Events that this process has written to the log.", .counter)

    public static let spansExported = Metric(
        "dormouse_spans_exported_total", "Spans of traces that the collector accepted.", .counter)
    public static let spansDropped = Metric(
        "dormouse_spans_dropped_total",
        "Spans of traces that were lost, by reason: queue_full, or refused by the collector, or unreachable.", .counter)

    public static let certificateExpires = Metric(
        "dormouse_certificate_expires_timestamp_seconds",
        "The time at which the certificate of a port expires, in seconds since 1970.", .gauge)

    public static let checkFailing = Metric(
        "dormouse_check_failing", "1 while a check of /readyz fails, by check.", .gauge)

    public static let partitionsFollowed = Metric(
        "dormouse_partitions_followed", "Partitions whose events and deadlines this process handles.", .gauge)
    public static let partitionsHalted = Metric(
        "dormouse_partitions_halted", "Partitions with an event that only a newer program understands.", .gauge)
    public static let partitionsStuck = Metric(
        "dormouse_partitions_stuck",
        "Partitions whose batches have failed, or waited for another session's lock, for longer than 5 s.", .gauge)
    public static let clockSkew = Metric(
        "dormouse_clock_skew_seconds", "Seconds by which the database's clock is ahead of this machine's.", .gauge)
    public static let consumerAge = Metric(
        "dormouse_consumer_age_seconds",
        "Age in seconds of the oldest event that a consumer has not consumed, by consumer.", .gauge)
    public static let devicesParked = Metric(
        "dormouse_devices_parked", "Devices with dead letters of this service, over all replicas.", .gauge)
    public static let stateCacheBytes = Metric(
        "dormouse_state_cache_bytes", "Approximate memory of cached states, in bytes.", .gauge)
    public static let statesOutdated = Metric(
        "dormouse_states_outdated", "States of an older version that this process must still upgrade.", .gauge)
    public static let statesUpgraded = Metric(
        "dormouse_states_upgraded_total", "States of an older version that this process has upgraded.", .counter)
    public static let eventsUncounted = Metric(
        "dormouse_events_uncounted", "Events in the log that the statistics do not include yet.", .gauge)
    public static let postgresConnections = Metric(
        "dormouse_postgres_connections", "Connections of all clients to the server of PostgreSQL.", .gauge)
    public static let postgresConnectionsLimit = Metric(
        "dormouse_postgres_connections_limit", "The most connections of clients that are no superusers.", .gauge)
    public static let postgresDatabaseBytes = Metric(
        "dormouse_postgres_database_bytes", "Size of the database on disk, without its write-ahead log.", .gauge)
    public static let postgresTransactionAge = Metric(
        "dormouse_postgres_transaction_age", "Transactions since the oldest one that is not frozen yet.", .gauge)
    public static let logOverdue = Metric(
        "dormouse_log_overdue_seconds", "Seconds by which the oldest day of the log is older than the retention.",
        .gauge)
    public static let erasureAge = Metric(
        "dormouse_erasure_age_seconds",
        "Seconds since the request of the oldest erasure that is not done; 0 without one.", .gauge)
    public static let consumerLag = Metric(
        "dormouse_consumer_lag", "Events that a consumer has not consumed, by consumer, over all partitions.", .gauge)
}
