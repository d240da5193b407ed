public import Contracts
public import Foundation
public import Postgres
public import Timeline

/// The read position of a consumer in a partition.
public struct ConsumerPosition: Sendable, Equatable {
    public var partition: Int
    /// The last offset that the consumer has read.
    public var offset: Int
    /// The last offset of the partition.
    public var head: Int
    /// The process that holds the lease; nil if none does.
    public var owner: UUID?
    /// How often the lease was taken from an owner that had not released it, since a batch last reached the head.
    public var attempts: Int
    /// The append time of the oldest unread event, in real milliseconds since 1970; nil if all are read.
    public var waitingSince: Int64?

    /// The number of unread events.
    public var lag: Int { head - offset }
}

/// A dead letter: an input that a consumer could not process, or one that waits behind it. Its key is parked.
public struct DeadLetterSummary: Sendable, Equatable {
    public var consumer: String
    public var key: AggregateKey
    public var partition: Int
    /// The offset of the event; nil for a deadline.
    public var offset: Int?
    /// The due time of a deadline; nil for an event.
    public var due: Instant?
    /// The reason; nil for an input that waits behind another.
    public var reason: String?
    /// The real time at which the input became a dead letter.
    public var parkedAt: Instant

    /// The position among the dead letters.
    public var position: DeadLetterPosition {
        DeadLetterPosition(consumer: consumer, partition: partition, key: key.description, offset: offset ?? 0)
    }
}

/// A position among the dead letters of all consumers.
public struct DeadLetterPosition: Sendable, Equatable {
    public var consumer: String
    public var partition: Int
    public var key: String
    /// 0 for a deadline.
    public var offset: Int

    public init(consumer: String, partition: Int, key: String, offset: Int) {
        self.consumer = consumer
        self.partition = partition
        self.key = key
        self.offset = offset
    }
}

/// The result of a check that the offsets of a partition are dense.
public struct DensityCheck: Sendable, Equatable {
    public var partition: Int
    /// The first offset that should exist.
    public var first: Int
    /// The last offset that should exist.
    public var last: Int
    /// The number of events.
    public var count: Int
    /// The ranges with missing or duplicate events, at most one for each 50,000 offsets.
    public var faults: [ClosedRange<Int>]
}

extension LogQueries {
    private static let positions = Statement(
        """
        SELECT c.consumer, c.partition, c.log_offset, p.head,
            CASE WHEN c.lease_expires > clock_timestamp() THEN c.owner END, c.attempts, waiting.appended_at
        FROM bus.cursors AS c JOIN bus.partitions AS p USING (partition)
        LEFT JOIN LATERAL (
            SELECT e.appended_at FROM bus.events AS e
            WHERE c.log_offset < p.head AND e.partition = c.partition AND e.log_offset > c.log_offset
            ORDER BY e.log_offset LIMIT 1) AS waiting ON true
        ORDER BY c.consumer, c.partition
        """)
    private static let block = Statement(
        """
        SELECT count(*), count(DISTINCT log_offset) FROM bus.events
        WHERE partition = $1 AND log_offset > $2 AND log_offset <= $3
        """)
    private static let letters = Statement(
        """
        SELECT consumer, key, partition, log_offset, due, reason, parked_at FROM bus.dead_letters
        WHERE ($1 IS NULL OR consumer = $1)
            AND ($2::text IS NULL OR (consumer, partition, key, log_offset) > ($2, $3::int4, $4::text, $5::int8))
        ORDER BY consumer, partition, key, log_offset LIMIT $6
        """)
    private static let oldestDay = Statement(
        "SELECT coalesce(current_date - min(d.day), 0)::integer FROM bus.days() AS d")
    private static let oldestErasure = Statement(
        """
        SELECT coalesce(extract(epoch FROM clock_timestamp() - min(requested_at)), 0)::float8
        FROM bus.erasures WHERE erased_at IS NULL
        """)
    private static let daysAhead = Statement("SELECT bus.days_ahead()")

    /// Returns every consumer with its positions, by name and partition.
    public func consumers() async throws(PostgresError) -> [(name: String, positions: [ConsumerPosition])] {
        var consumers: [(name: String, positions: [ConsumerPosition])] = []
        for row in try await pool.execute(Self.positions) {
            let (name, partition, offset, head, owner, attempts, since) = try row.decode(
                (String, Int, Int, Int, UUID?, Int, PostgresTimestamp?).self)
            let position = ConsumerPosition(
                partition: partition, offset: offset, head: head, owner: owner, attempts: attempts,
                waitingSince: since?.milliseconds)
            if consumers.last?.name == name {
                consumers[consumers.count - 1].positions.append(position)
            } else {
                consumers.append((name, [position]))
            }
        }
        return consumers
    }

    /// Returns the whole days from the oldest day of the log to today.
    public func ageOfOldestDay() async throws(PostgresError) -> Int {
        try await pool.execute(Self.oldestDay)[0].decode(Int.self)
    }

    /// Returns the real seconds since the request of the oldest erasure that is not done; 0 without one.
    public func ageOfOldestErasure() async throws(PostgresError) -> Double {
        try await pool.execute(Self.oldestErasure)[0].decode(Double.self)
    }

    /// Returns a page of dead letters by consumer, partition, key and offset.
    ///
    /// - Parameters:
    ///   - consumer: nil for all.
    ///   - position: the position of the last known one; nil for the first page.
    public func deadLetters(
        of consumer: String? = nil, after position: DeadLetterPosition? = nil, limit: Int
    ) async throws(PostgresError) -> [DeadLetterSummary] {
        let parameters: [Parameter] = [
            .text(consumer), .text(position?.consumer), .int4(position.map { Int32(clamping: $0.partition) }),
            .text(position?.key), .int(position?.offset), .int(limit),
        ]
        return try await pool.execute(Self.letters, parameters)
            .decode((String, AggregateKey, Int, Int, Instant?, String?, Instant).self).map {
                DeadLetterSummary(
                    consumer: $0, key: $1, partition: $2, offset: $3 == 0 ? nil : $3, due: $4, reason: $5,
                    parkedAt: $6)
            }
    }

    /// Checks that the retained offsets of a partition are dense. A missing offset is corruption.
    public func checkDensity(of partition: Int) async throws(PostgresError) -> DensityCheck {
        let bounds = try await bounds()
        let (head, droppedTo) = bounds[partition] ?? (0, 0)
        var check = DensityCheck(partition: partition, first: droppedTo + 1, last: head, count: 0, faults: [])
        var low = droppedTo
        while low < head {
            let high = min(head, low + 50_000)
            let (count, distinct) = try await pool.execute(
                Self.block, .partition(partition), .int(low), .int(high), rowsExpected: 1)[0].decode((Int, Int).self)
            if count != high - low || distinct != count { check.faults.append(low + 1...high) }
            check.count += count
            low = high
        }
        // Retention dropped events during the check: check again.
        let gone = check.faults.isEmpty ? droppedTo : try await self.bounds()[partition]?.droppedTo ?? droppedTo
        guard gone > droppedTo else { return check }
        return try await checkDensity(of: partition)
    }

    /// Returns a fault for `/readyz` if too few of the next days have a table.
    public static func daysFault(_ connection: Connection) async throws(PostgresError) -> String? {
        let days = try await connection.execute(daysAhead, rowsExpected: 1)[0].decode(Int.self)
        return days < LogMaintenance.fewestDaysAhead ? "the log has tables for only \(days) days ahead" : nil
    }
}
