import Contracts
import Postgres
import Records
import Timeline

/// The notifications of an app on a device, read from the log: states do not keep settled notifications.
struct NotificationHistory: Sendable {
    /// The number of device events in one search.
    static let window = 5000
    /// The largest number of searches for a page. A page is short if they find few matching notifications.
    static let windows = 4

    let pool: ConnectionPool
    let partitions: Int

    private struct Entry {
        var offset: Int
        var time: Instant
        var event: PushEvent.NotificationReceived
    }

    private typealias Words = [String: (status: NotificationStatus, time: Instant)]

    private static let recent = """
        SELECT log_offset, time, type, app, data FROM bus.events
        WHERE partition = $1 AND key = $2 AND log_offset < $3 ORDER BY log_offset DESC LIMIT \(window)
        """
    static let received = Statement(
        """
        SELECT log_offset, time, data::text FROM (\(recent)) AS recent
        WHERE type = 'push.notification.received' AND app = $4 ORDER BY log_offset DESC LIMIT $5
        """)
    static let lookedThrough = Statement(
        "SELECT coalesce(min(log_offset), 0)::int8, count(*)::int8 FROM (\(recent)) AS recent")
    /// The latest status event of each notification, found by one index search each.
    static let last = Statement(
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
    /// - Parameter status: the required latest status; nil for any.
    func page(
        _ key: AggregateKey, app: String, status: ConsoleStatus?, before cursor: Int, limit: Int
    ) async throws -> NotificationPage {
        var page = NotificationPage()
        var cursor = cursor
        for _ in 0..<Self.windows {
            let (entries, end) = try await entries(key, app: app, before: cursor)
            // Without a filter, query no more than fit on the page.
            let rest = status == nil ? entries.prefix(limit - page.items.count) : entries[...]
            let words = try await words(on: rest.map(\.event.notification), key)
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
        let keyParameters: [Parameter] = [
            .int4(Int32(key.partition(of: partitions))), .text(key.description), .int(cursor),
        ]
        let answers = try await pool.execute([
            Query(Self.received, keyParameters + [.text(app), .int(Self.step)]),
            Query(Self.lookedThrough, keyParameters),
        ])
        let entries = try answers[0].map { row in
            Entry(
                offset: try row.int(0), time: Instant(milliseconds: Int64(try row.int(1))),
                event: try PushEvent.NotificationReceived(jsonBytes: row.bytes(2), lenient: true))
        }
        if entries.count == Self.step { return (entries, entries.last?.offset) }
        let isFull = try answers[1].first?.int(1) == Self.window
        return (entries, isFull ? try answers[1].first?.int(0) : nil)
    }

    /// The largest number of notifications in one search.
    private static let step = 200

    private func words(on notifications: [String], _ key: AggregateKey) async throws -> Words {
        guard !notifications.isEmpty else { return [:] }
        let partition = Parameter.int4(Int32(key.partition(of: partitions)))
        let rows = try await pool.execute(
            Query(Self.last, [partition, .texts(notifications), .texts(NotificationCounts.types)]))
        var words: Words = [:]
        for row in rows {
            let event = try PushEvent(type: try row.text(0), version: try row.int(1), data: try row.bytes(2))
            guard let status = event.status else { continue }
            words[status.notification] = (status, Instant(milliseconds: Int64(try row.int(3))))
        }
        return words
    }
}

/// A notification and its latest status.
struct NotificationItem: Record {
    var apnsID = ""
    /// The time of ``status``.
    var at = Instant.epoch
    /// `apns-unique-id`.
    var id = ""
    var priority = 10
    var pushType = PushType.alert
    var receivedAt = Instant.epoch
    /// The latest status.
    var status = ConsoleStatus.received
    var topic = ""

    init(
        _ event: PushEvent.NotificationReceived, at time: Instant,
        _ last: (status: NotificationStatus, time: Instant)?
    ) {
        id = event.notification
        apnsID = event.apnsID
        pushType = event.pushType
        priority = event.priority
        topic = event.topic
        receivedAt = time
        status = last?.status.status ?? event.status
        at = last?.time ?? time
    }
}

struct NotificationPage: Record {
    /// Newest first.
    var items: [NotificationItem] = []
    /// The `cursor` of the next page. A short page may have one too, if few notifications have the status.
    var next: Nullable<String> = nil
}
