import Postgres

/// The statements around outages. Not on the hot path.
extension Statements {
    static let served = "served_at = clock_timestamp(), served_time = bus.suite_time(bus.real_now())"

    /// Adds the time since the cursor was last served, where that was an outage. One that is still to be told of and the new
    /// one become one: whoever was told of a part of it is told of the rest alone.
    ///
    /// - Parameter noted: whether to look at all.
    static func outage(noted: String) -> String {
        """
        outage = CASE WHEN \(noted) THEN coalesce(
            range_merge(outage, bus.outage_since(consumer, served_at, served_time)),
            bus.outage_since(consumer, served_at, served_time), outage) ELSE outage END
        """
    }

    /// What nobody has taken down yet: the owner's death was a moment ago, or its own lease has lapsed.
    static let outageUntilNow = Statement(
        """
        SELECT lower(o), upper(o) FROM bus.cursors AS c, bus.outage_since(c.consumer, c.served_at, c.served_time) AS o
        WHERE c.partition = $1 AND c.consumer = $2
        """)
    /// Those whom an outage may concern, in order.
    static func limited(_ service: String) -> Statement {
        Statement(
            """
            SELECT key FROM "\(service)".states
            WHERE partition = $1 AND key > $2 AND next_deadline IS NOT NULL ORDER BY key LIMIT $3
            """)
    }
    /// All that it concerns were told. Under the lock of the cursor, so nothing can have been added to it.
    static let forgetOutage = Statement(
        """
        WITH forgotten AS (
            UPDATE bus.cursors SET outage = NULL
            WHERE partition = $1 AND consumer = $2 AND outage = int8range($3, $4) RETURNING 1)
        SELECT bus.expect((SELECT count(*) FROM forgotten), 1, 'the number of outages forgotten')
        """)
}
