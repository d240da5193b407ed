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
        ), changes AS MATERIALIZED (
            -- The fleet of a device from an event of the range on, up to the next one.
            SELECT key, data ->> 'fleet' AS fleet, log_offset AS low,
                coalesce(lead(log_offset) OVER (PARTITION BY key ORDER BY log_offset), 9223372036854775807) AS high
            FROM bus.events
            WHERE partition = $1 AND type = ANY($4) AND log_offset > (SELECT log_offset FROM position)
                AND log_offset <= (SELECT log_offset FROM range_end)
        ), new_counts AS MATERIALIZED (
            SELECT e.time / 3600000 AS hour, coalesce(e.app, '') AS app, e.data ->> 'pushType' AS push_type,
                coalesce(e.data ->> 'status', $3) AS status,
                coalesce(CASE WHEN c.key IS NULL THEN d.fleet ELSE c.fleet END, '') AS fleet, count(*) AS n
            FROM bus.events AS e
            LEFT JOIN changes AS c ON c.key = e.key AND c.low <= e.log_offset AND e.log_offset < c.high
            LEFT JOIN push.device_fleets AS d ON d.partition = $1 AND d.key = e.key
            WHERE e.partition = $1 AND e.type = ANY($2) AND e.log_offset > (SELECT log_offset FROM position)
                AND e.log_offset <= (SELECT log_offset FROM range_end)
            GROUP BY 1, 2, 3, 4, 5
        ), stored AS (
            INSERT INTO push.notification_counts AS c (partition, hour, app, push_type, status, fleet, n)
            SELECT $1, hour, app, push_type, status, fleet, n FROM new_counts
            ON CONFLICT (partition, hour, app, push_type, status, fleet) DO UPDATE SET n = c.n + excluded.n
        ), joined AS (
            INSERT INTO push.device_fleets (partition, key, fleet)
            SELECT $1, key, fleet FROM changes WHERE high = 9223372036854775807 AND fleet IS NOT NULL
            ON CONFLICT (partition, key) DO UPDATE SET fleet = excluded.fleet
        ), gone AS (
            DELETE FROM push.device_fleets AS d USING changes AS c
            WHERE d.partition = $1 AND d.key = c.key AND c.high = 9223372036854775807 AND c.fleet IS NULL
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
            AND ($6 = '' OR fleet = $6)
        GROUP BY hour, app, push_type, status ORDER BY hour, app, push_type, status LIMIT $5
        """)

    private static let forget = Statement(
        """
        DELETE FROM push.notification_counts AS c USING (
            SELECT partition, hour, app, push_type, status, fleet FROM push.notification_counts
            WHERE partition = $1 AND hour < $2 ORDER BY hour LIMIT $3 FOR UPDATE SKIP LOCKED) AS old
        WHERE c.partition = old.partition AND c.hour = old.hour AND c.app = old.app AND c.push_type = old.push_type
            AND c.status = old.status AND c.fleet = old.fleet
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
        return try await pool.execute(
            Self.count, .partition(partition), .texts(Self.statusTypes), .text(asked),
            .texts([PushEvent.DeviceUpdated.type, PushEvent.DeviceRemoved.type])
        ).decode((String, Int).self).map { ($0, $1) }
    }

    /// Returns the counts of whole hours since 1970.
    ///
    /// - Parameters:
    ///   - app: nil for all apps.
    ///   - type: nil for all types.
    ///   - fleet: the fleet of the devices at the time of the statuses; nil for all devices.
    func counts(
        _ hours: Range<Int>, app: String?, type: PushType?, fleet: String? = nil, limit: Int
    ) async throws(PostgresError) -> [NotificationCount] {
        let rows = try await pool.execute(
            Self.find, .int(hours.lowerBound), .int(hours.upperBound), .text(app ?? ""), .text(type?.rawValue ?? ""),
            .int(limit), .text(fleet ?? ""))
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
