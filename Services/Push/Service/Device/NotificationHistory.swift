import Contracts
import EventLog
import Machines
import OrderedCollections
import Postgres
import PushMachine
import Records
import Timeline

/// The notifications of an app on a device, as the log has them: no state keeps what is settled.
struct NotificationHistory: Sendable {
    /// So many notifications are looked through for one page: a rare status may leave it short.
    static let reach = 2000
    static let step = 200

    private let pool: ConnectionPool
    private let partitions: Int
    private let received: EventHistory<PushEvent.NotificationReceived>

    /// The last word on each of some notifications. What follows a notification comes after it in the log.
    private static let last = Statement(
        """
        SELECT DISTINCT ON (data ->> 'notification') type, version::int8, data::text, time FROM bus.events
        WHERE partition = $1 AND key = $2 AND app = $3 AND log_offset >= $4 AND type = ANY($5)
            AND data ->> 'notification' = ANY($6)
        ORDER BY data ->> 'notification', log_offset DESC
        """)

    init(pool: ConnectionPool, partitions: Int) {
        self.pool = pool
        self.partitions = partitions
        received = EventHistory(pool: pool, partitions: partitions)
    }

    /// Those before a place in the log, newest first.
    ///
    /// - Parameter status: of those only whose last word it is.
    func page(
        _ key: AggregateKey, app: String, status: ConsoleStatus?, before cursor: Int, limit: Int
    ) async throws -> NotificationPage {
        var page = NotificationPage()
        var cursor = cursor
        for _ in 0..<(Self.reach / Self.step) {
            let entries = try await received.page(key, app: app, before: cursor, limit: Self.step)
            guard let oldest = entries.last else { return page }
            let words = try await words(on: entries.map(\.data.notification), key, app: app, from: oldest.offset)
            for entry in entries {
                guard page.items.count < limit else {
                    page.next = String(cursor)
                    return page
                }
                cursor = entry.offset
                let item = NotificationItem(entry.data, at: entry.time, words[entry.data.notification])
                if status == nil || item.status == status { page.items.append(item) }
            }
            guard entries.count == Self.step else { return page }
        }
        page.next = String(cursor)
        return page
    }

    private func words(
        on notifications: [String], _ key: AggregateKey, app: String, from offset: Int
    ) async throws -> [String: (status: NotificationStatus, time: Instant)] {
        let rows = try await pool.run(
            Call(
                Self.last,
                [
                    .int4(Int32(key.partition(of: partitions))), .text(key.description), .text(app), .int(offset),
                    .texts(NotificationCounts.types), .texts(notifications),
                ]))
        var words: [String: (status: NotificationStatus, time: Instant)] = [:]
        for row in rows {
            let event = try PushEvent(type: try row.text(0), version: try row.int(1), data: try row.bytes(2))
            guard let status = event.status else { continue }
            words[status.notification] = (status, Instant(milliseconds: Int64(try row.int(3))))
        }
        return words
    }
}

/// What became of a notification.
struct NotificationItem: Record {
    /// `apns-unique-id`.
    var id = ""
    var apnsID = ""
    var pushType = PushType.alert
    var priority = 10
    var topic = ""
    var receivedAt = Instant.epoch
    /// The last word on it.
    var status = ConsoleStatus.received
    /// When it came to that.
    var at = Instant.epoch

    init() {}

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

    mutating func visit<V: FieldVisitor>(_ fields: inout V) {
        fields.field("apnsID", &apnsID)
        fields.field("at", &at)
        fields.field("id", &id)
        fields.field("priority", &priority)
        fields.field("pushType", &pushType)
        fields.field("receivedAt", &receivedAt)
        fields.field("status", &status)
        fields.field("topic", &topic)
    }
}

struct NotificationPage: Record {
    /// Newest first.
    var items: [NotificationItem] = []
    /// Further back: `?cursor=`. A page may be short and have it all the same, where few have the status.
    var next: String?

    mutating func visit<V: FieldVisitor>(_ fields: inout V) {
        fields.field("items", &items)
        fields.field("next", &next)
    }
}
