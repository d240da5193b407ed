import Contracts
import EventLog
import Postgres
import Records
import Timeline

// The notifications of an app on a device, read from the log: states do not keep settled notifications.
extension PushStore {
    /// The number of device events in one search.
    static let historyWindow = 5000
    /// The largest number of searches for a page. A page is short if they find few matching notifications.
    private static let historyWindows = 4
    /// The largest number of notifications in one search.
    private static let historyStep = 200

    private typealias Entry = (offset: Int, time: Instant, event: PushEvent.NotificationReceived)

    private static let recent = """
        SELECT log_offset, time, type, app, data FROM bus.events
        WHERE partition = $1 AND key = $2 AND log_offset < $3 ORDER BY log_offset DESC LIMIT \(historyWindow)
        """
    static let receivedOfApp = Statement(
        """
        SELECT log_offset, time, data::text FROM (\(recent)) AS recent
        WHERE type = 'push.notification.received' AND app = $4 ORDER BY log_offset DESC LIMIT $5
        """)
    private static let searched = Statement(
        "SELECT coalesce(min(log_offset), 0)::int8, count(*)::int8 FROM (\(recent)) AS recent")
    /// The latest status event of each notification, found by one index search each.
    static let lastStatuses = Statement(
        """
        SELECT newest.* FROM unnest($2::text[]) AS wanted (id), LATERAL (
            WITH matching AS MATERIALIZED (
                SELECT type, version, data, time, log_offset FROM bus.events
                WHERE partition = $1 AND source = 'push' AND data ->> 'notification' = wanted.id)
            SELECT type, version::int8, data::text, time FROM matching WHERE type = ANY($3)
            ORDER BY log_offset DESC LIMIT 1) AS newest
        """)

    /// Returns a page of notifications before a log offset, newest first.
    ///
    /// A short page may have a next one too, if few notifications have the status.
    ///
    /// - Parameter status: the required latest status; nil for any.
    func notifications(
        of key: AggregateKey, app: String, status: ConsoleStatus?, before cursor: Int, limit: Int
    ) async throws -> Page<NotificationItem> {
        var page = Page<NotificationItem>([])
        var cursor = cursor
        for _ in 0..<Self.historyWindows {
            let (entries, end) = try await entries(key, app: app, before: cursor)
            // Without a filter, query no more than fit on the page.
            let rest = status == nil ? entries.prefix(limit - page.items.count) : entries[...]
            let words = try await statuses(of: rest.map(\.event.notification), key)
            for entry in entries {
                guard page.items.count < limit else {
                    page.next = String(cursor)
                    return page
                }
                cursor = entry.offset
                let item = NotificationItem(entry.event, at: entry.time, words[entry.event.notification])
                if status == nil || item.status == status { page.items.append(item) }
            }
            guard let end else { return page }
            cursor = end
        }
        page.next = String(cursor)
        return page
    }

    /// Returns the received notifications of the app before a log offset, newest first.
    ///
    /// - Returns: also the offset where the search ended; nil if it reached the beginning of the log.
    private func entries(
        _ key: AggregateKey, app: String, before cursor: Int
    ) async throws -> (entries: [Entry], end: Int?) {
        let range = parameters(of: key) + [.int(cursor)]
        let answers = try await pool.execute([
            Query(Self.receivedOfApp, range + [.text(app), .int(Self.historyStep)]),
            Query(Self.searched, range, rowsExpected: 1),
        ])
        let entries = try answers[0].decode((Int, Instant, [UInt8]).self).map {
            (offset: $0, time: $1, event: try PushEvent.NotificationReceived(jsonBytes: $2, lenient: true))
        }
        if entries.count == Self.historyStep { return (entries, entries.last?.offset) }
        let (oldest, count) = try answers[1][0].decode((Int, Int).self)
        return (entries, count == Self.historyWindow ? oldest : nil)
    }

    private func statuses(
        of notifications: [String], _ key: AggregateKey
    ) async throws -> [String: (status: NotificationStatus, time: Instant)] {
        guard !notifications.isEmpty else { return [:] }
        let rows = try await pool.execute(
            Self.lastStatuses, .partition(key.partition(of: partitions)), .texts(notifications),
            .texts(Self.statusTypes))
        var statuses: [String: (status: NotificationStatus, time: Instant)] = [:]
        for (type, version, data, time) in try rows.decode((String, Int, [UInt8], Instant).self) {
            guard let status = try PushEvent(type: type, version: version, data: data).status else { continue }
            statuses[status.notification] = (status, time)
        }
        return statuses
    }
}
