import Postgres

/// The statements for outages. They are not on the hot path.
extension Statements {
    /// The begin of a statement that changes cursors: a CTE `t` with the current moments, by the clock of the database,
    /// and with the start of the first living member. The statement itself calls no volatile function: Citus allows none
    /// there, and evaluates this CTE on the coordinator. `$2` is the consumer.
    ///
    /// - Parameters:
    ///   - term: the parameter with the term of a lease in seconds.
    ///   - noted: the parameter that tells whether outages are noted.
    static func moments(term: String, noted: String) -> String {
        """
        WITH t AS MATERIALIZED (
            SELECT clock_timestamp() AS now, clock_timestamp() + make_interval(secs => \(term)) AS expires,
                clock_timestamp() + interval '\(2 * Self.term) seconds' AS latest,
                bus.suite_time(bus.real_now()) AS suite_time, l.since, l.since_time
            FROM (SELECT) AS one LEFT JOIN bus.living_since($2) AS l ON \(noted))
        """
    }
    static let served = "served_at = t.now, served_time = t.suite_time"

    /// Adds the time since the cursor was last served, if that was an outage. It merges a new outage with one that is
    /// still in the row. An aggregate that knows the first part is notified only of the rest.
    ///
    /// - Parameter noted: the condition under which it looks.
    static func outage(noted: String) -> String {
        let found = "bus.outage_between(c.served_at, c.served_time, t.since, t.since_time)"
        return """
            outage = CASE WHEN \(noted)
                THEN coalesce(range_merge(c.outage, \(found)), \(found), c.outage) ELSE c.outage END
            """
    }

    /// Returns the start of the first living member. Parameter: consumer.
    static let livingSince = Statement("SELECT since, since_time FROM bus.living_since($1)")
    /// Returns the outage that is not yet in the row: the owner has just died, or our lease has expired. Parameters:
    /// partition, consumer, the start of the first living member in real time and in suite time.
    static let outageUntilNow = Statement(
        """
        SELECT lower(o), upper(o) FROM (
            SELECT bus.outage_between(c.served_at, c.served_time, $3::timestamptz, $4) AS o
            FROM bus.cursors AS c WHERE c.partition = $1 AND c.consumer = $2) AS open
        """)
    /// Returns the keys with a deadline, in order.
    static func limited(_ service: String) -> Statement {
        Statement(
            """
            SELECT key FROM "\(service)".states
            WHERE partition = $1 AND key > $2 AND next_deadline IS NOT NULL ORDER BY key LIMIT $3
            """)
    }
    /// Removes an outage after all aggregates were notified. The cursor's lock prevents a change in between.
    static let forgetOutage = Statement(
        """
        WITH cleared AS (
            UPDATE bus.cursors SET outage = NULL
            WHERE partition = $1 AND consumer = $2 AND outage = int8range($3, $4) RETURNING 1)
        SELECT bus.expect((SELECT count(*) FROM cleared), 1, 'the number of cleared outages')
        """)
}
