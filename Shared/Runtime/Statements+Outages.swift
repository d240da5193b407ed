import Postgres

/// The statements for outages. They are not on the hot path.
extension Statements {
    static let served = "served_at = clock_timestamp(), served_time = bus.suite_time(bus.real_now())"

    /// Adds the time since the cursor was last served, if that was an outage. It merges a new outage with one that is
    /// still in the row. An aggregate that knows the first part is notified only of the rest.
    ///
    /// - Parameter noted: the condition under which it looks.
    static func outage(noted: String) -> String {
        """
        outage = CASE WHEN \(noted) THEN coalesce(
            range_merge(outage, bus.outage_since(consumer, served_at, served_time)),
            bus.outage_since(consumer, served_at, served_time), outage) ELSE outage END
        """
    }

    /// Returns the outage that is not yet in the row: the owner has just died, or our lease has expired.
    static let outageUntilNow = Statement(
        """
        SELECT lower(o), upper(o) FROM bus.cursors AS c, bus.outage_since(c.consumer, c.served_at, c.served_time) AS o
        WHERE c.partition = $1 AND c.consumer = $2
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
