import Contracts
import EventLog
import Postgres
import PushCore
import Timeline

// The counts of statuses. One statement locks the position of a partition, counts and moves the position.
extension PushStore {
    /// The event types that have a status.
    static let statusTypes = PushEvent.catalogue.map(\.type).filter {
        $0.hasPrefix("push.notification.") || $0.hasPrefix("push.wake.")
    }

    private static let behind = partitions(behind: "count_positions")
    // The row lock may return a position that is newer than the statement's snapshot of the log. Then nothing is
    // counted and nothing moves. Offsets are dense and in commit order, so all events up to the head are visible.
    private static let count = Statement(
        """
        WITH position AS MATERIALIZED (
            SELECT log_offset FROM push.count_positions WHERE partition = $1 FOR UPDATE SKIP LOCKED
        ), range_end AS MATERIALIZED (
            SELECT least(position.log_offset + \(LogReader.scanLimit), p.head) AS log_offset
            FROM position, bus.partitions AS p WHERE p.partition = $1
        ), new_counts AS MATERIALIZED (
            SELECT time / 3600000 AS hour, coalesce(app, '') AS app, data ->> 'pushType' AS push_type,
                coalesce(data ->> 'status', $3) AS status, count(*) AS n
            FROM bus.events
            WHERE partition = $1 AND type = ANY($2) AND log_offset > (SELECT log_offset FROM position)
                AND log_offset <= (SELECT log_offset FROM range_end)
            GROUP BY 1, 2, 3, 4
        ), stored AS (
            INSERT INTO push.notification_counts AS c (partition, hour, app, push_type, status, n)
            SELECT $1, hour, app, push_type, status, n FROM new_counts
            ON CONFLICT (partition, hour, app, push_type, status) DO UPDATE SET n = c.n + excluded.n
        ), advanced AS (
            UPDATE push.count_positions AS c SET log_offset = range_end.log_offset FROM range_end
            WHERE c.partition = $1 AND c.log_offset < range_end.log_offset
        )
        SELECT status, sum(n)::int8 FROM new_counts GROUP BY status
        """)
    private static let find = Statement(
        """
        SELECT hour, app, push_type, status, sum(n)::int8 FROM push.notification_counts
        WHERE hour >= $1 AND hour < $2 AND ($3 = '' OR app = $3) AND ($4 = '' OR push_type = $4)
        GROUP BY hour, app, push_type, status ORDER BY hour, app, push_type, status LIMIT $5
        """)

    private static let forget = Statement(
        """
        DELETE FROM push.notification_counts AS c USING (
            SELECT partition, hour, app, push_type, status FROM push.notification_counts
            WHERE partition = $1 AND hour < $2 ORDER BY hour LIMIT $3 FOR UPDATE SKIP LOCKED) AS old
        WHERE c.partition = old.partition AND c.hour = old.hour AND c.app = old.app AND c.push_type = old.push_type
            AND c.status = old.status
        """)

    /// Deletes the oldest counts of a partition from hours before this one.
    ///
    /// - Returns: the number of deleted counts, at most the limit.
    func forgetCounts(before hour: Int, in partition: Int, limit: Int) async throws(PostgresError) -> Int {
        try await pool.execute(Self.forget, .partition(partition), .int(hour), .int(limit)).affected
    }

    /// Returns the partitions with events that are not counted.
    func partitionsToCount() async throws(PostgresError) -> [Int] {
        try await pool.execute(Self.behind).decode(Int.self)
    }

    /// Counts the new events of a partition, unless another process counts them now.
    ///
    /// - Returns: the number of events of each status.
    func count(in partition: Int) async throws(PostgresError) -> [(status: String, count: Int)] {
        // Events of requested wakes have no status of their own.
        let asked = ConsoleStatus.wakeRequested.rawValue
        return try await pool.execute(Self.count, .partition(partition), .texts(Self.statusTypes), .text(asked))
            .decode((String, Int).self).map { ($0, $1) }
    }

    /// Returns the counts of whole hours since 1970.
    ///
    /// - Parameters:
    ///   - app: nil for all apps.
    ///   - type: nil for all types.
    func counts(
        _ hours: Range<Int>, app: String?, type: PushType?, limit: Int
    ) async throws(PostgresError) -> [NotificationCount] {
        let rows = try await pool.execute(
            Self.find, .int(hours.lowerBound), .int(hours.upperBound), .text(app ?? ""), .text(type?.rawValue ?? ""),
            .int(limit))
        return try rows.decode((Int, String, String, String, Int).self).map { hour, app, type, status, number in
            var count = NotificationCount()
            count.hour = .epoch + .hours(Int64(hour))
            count.app = app
            count.pushType = PushType(rawValue: type) ?? .alert
            count.topic = app + count.pushType.topicSuffix
            count.status = ConsoleStatus(rawValue: status) ?? .received
            count.count = number
            return count
        }
    }
}
