import Postgres

/// The statements for dead letters.
extension Statements {
    static let parkedKeys = Statement(
        "SELECT DISTINCT key FROM bus.dead_letters WHERE partition = $1 AND consumer = $2")
    // A letter can exist already if an operator has moved the cursor back.
    static let park = Statement(
        """
        INSERT INTO bus.dead_letters (partition, consumer, key, log_offset, due, reason, parked_at)
        SELECT p.partition, $2, d.key, d.log_offset, d.due, d.reason, statement_timestamp()
        FROM bus.partitions AS p,
            unnest($3::text[], $4::int8[], $5::int8[], $6::text[]) AS d (key, log_offset, due, reason)
        WHERE p.partition = $1
        ON CONFLICT (partition, consumer, key, log_offset) DO NOTHING
        """)
    static let suspect = Statement(
        """
        INSERT INTO bus.input_attempts AS s (partition, consumer, input, attempted_at)
        VALUES ($1, $2, $3, statement_timestamp())
        ON CONFLICT (partition, consumer, input) DO UPDATE
        SET attempts = s.attempts + 1, attempted_at = excluded.attempted_at
        RETURNING attempts::int8
        """)
    static let clear = Statement("DELETE FROM bus.input_attempts WHERE partition = $1 AND consumer = $2 AND input = $3")

    /// Returns the first letter of a key. A second row shows that there are more.
    static let firstLetter = Statement(
        """
        SELECT log_offset, due FROM bus.dead_letters
        WHERE partition = $1 AND consumer = $2 AND key = $3 ORDER BY log_offset LIMIT 2
        """)
    static let removeLetter = Statement(
        """
        WITH removed AS (
            DELETE FROM bus.dead_letters WHERE partition = $1 AND consumer = $2 AND key = $3 AND log_offset = $4 RETURNING 1)
        SELECT bus.expect((SELECT count(*) FROM removed), 1, 'the number of letters removed')
        """)
    static let unpark = Statement(
        "UPDATE bus.cursors SET parked = parked - 1 WHERE partition = $1 AND consumer = $2")
    static let letters = Statement(
        """
        SELECT partition::int8, key, log_offset, due, reason, parked_at FROM bus.dead_letters
        WHERE consumer = $1 AND (partition, key, log_offset) > ($3, $4, $5) ORDER BY partition, key, log_offset LIMIT $2
        """)
    static let parkedCount = Statement("SELECT coalesce(sum(parked), 0)::int8 FROM bus.cursors WHERE consumer = $1")

    /// Returns for each partition whether there are events after the cursor, and the earliest deadline that can fire.
    /// Deadlines of parked keys can't.
    static func standing(_ service: String) -> Statement {
        Statement(
            """
            SELECT c.partition::int8, p.head > c.log_offset OR c.outage IS NOT NULL,
                (SELECT s.next_deadline FROM "\(service)".states AS s
                    WHERE s.partition = c.partition AND s.next_deadline IS NOT NULL
                        AND (c.parked = 0 OR NOT EXISTS (
                            SELECT FROM bus.dead_letters AS d
                            WHERE d.partition = c.partition AND d.consumer = $1 AND d.key = s.key))
                    ORDER BY s.next_deadline LIMIT 1)
            FROM bus.cursors AS c JOIN bus.partitions AS p USING (partition) WHERE c.consumer = $1
            """)
    }
}
