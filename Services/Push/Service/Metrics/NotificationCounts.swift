import Contracts
import EventLog
import Logging
import Postgres
import PushMachine
import ServiceLifecycle
import Telemetry
import Timeline

/// Counts the statuses of notifications from the log, each event exactly once. Any number of processes may count at
/// once: one statement locks the position of a partition, counts and moves the position.
struct NotificationCounts: Service {
    let pool: ConnectionPool
    let metrics: Metrics
    let logger: Logger

    /// The event types that have a status.
    static let types = PushEvent.catalogue.map(\.type).filter {
        $0.hasPrefix("push.notification.") || $0.hasPrefix("push.wake.")
    }

    private static let behind = Statement(
        """
        SELECT c.partition::int8 FROM push.count_positions AS c JOIN bus.partitions AS p USING (partition)
        WHERE p.head > c.log_offset ORDER BY c.partition
        """)
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
    func forget(before hour: Int, in partition: Int, limit: Int) async throws(PostgresError) -> Int {
        try await pool.execute(Query(Self.forget, [.int4(Int32(partition)), .int(hour), .int(limit)])).affected
    }

    /// Counts until graceful shutdown or cancellation.
    func run() async throws {
        await cancelWhenGracefulShutdown {
            var pause = Duration.zero
            while (try? await Task.sleep(for: pause)) != nil {
                do { pause = try await round() ? .milliseconds(50) : .seconds(1) } catch {
                    if Task.isCancelled { return }
                    logger.warning("failed to count notifications, will retry", error: error)
                    pause = .seconds(1)
                }
            }
        }
    }

    /// Counts the new events of each partition that no other process counts now.
    ///
    /// - Returns: whether there were any.
    func round() async throws(PostgresError) -> Bool {
        var counted = false
        for row in try await pool.execute(Query(Self.behind)) {
            if try await count(partition: try row.int(0)) { counted = true }
        }
        return counted
    }

    private func count(partition: Int) async throws(PostgresError) -> Bool {
        // Events of requested wakes have no status of their own.
        let asked = ConsoleStatus.wakeRequested.rawValue
        let rows = try await pool.execute(
            Query(Self.count, [.int4(Int32(partition)), .texts(Self.types), .text(asked)]))
        for row in rows {
            metrics.add(Double(try row.int(1)), to: .notifications, ["status": try row.text(0)])
        }
        return !rows.isEmpty
    }

    /// Returns the counts of whole hours since 1970.
    ///
    /// - Parameters:
    ///   - app: nil for all apps.
    ///   - type: nil for all types.
    func find(
        _ hours: Range<Int>, app: String?, type: PushType?, limit: Int
    ) async throws(PostgresError) -> [NotificationCount] {
        let rows = try await pool.execute(
            Query(
                Self.find,
                [
                    .int(hours.lowerBound), .int(hours.upperBound), .text(app ?? ""), .text(type?.rawValue ?? ""),
                    .int(limit),
                ]))
        return try rows.map { row throws(PostgresError) in
            var count = NotificationCount()
            count.hour = .epoch + .hours(Int64(try row.int(0)))
            count.app = try row.text(1)
            count.pushType = PushType(rawValue: try row.text(2)) ?? .alert
            count.topic = count.app + (count.pushType.topicSuffix)
            count.status = ConsoleStatus(rawValue: try row.text(3)) ?? .received
            count.count = try row.int(4)
            return count
        }
    }
}

extension Metric {
    /// Each process reports the events that it counted. Their sum counts each event once.
    static let notifications = Metric(
        "dormouse_push_notifications_total", "Status changes of notifications, by status.",
        .counter)
}
