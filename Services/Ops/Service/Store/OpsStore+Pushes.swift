import Contracts
import EventLog
import Foundation
import Postgres
import Records
import Timeline

// The notifications that providers sent.
extension OpsStore {
    /// Returns a page of notifications, newest first.
    ///
    /// - Parameter partitions: the number of partitions of the log.
    func pushes(_ query: PushQuery, partitions: Int) async throws(PostgresError) -> Page<PushRow> {
        let search = PushSearch(query, partitions: partitions)
        let rows = try await pool.execute(Query(Statement(search.sql), search.parameters)).map(FoundPush.init)
        var page = Page(rows.prefix(query.limit).map(\.row))
        if rows.count > query.limit { page.next = PushCursor(rows[query.limit - 1].position).text }
        return page
    }

    /// Returns a notification by its `apns-unique-id`.
    ///
    /// - Parameter lateAfter: the delay in milliseconds after which it is late.
    func push(_ notification: String, lateAfter: Int) async throws(PostgresError) -> FoundPush? {
        let search = PushSearch(notification, lateAfter: lateAfter)
        return try await pool.execute(Query(Statement(search.sql), search.parameters)).first.map(FoundPush.init)
    }
}

/// A row of ``PushSearch``.
struct FoundPush {
    let row: PushRow
    let position: PushPosition
    /// The event of the last wait before the arrival.
    let wait: UUID?
}

/// A search in `ops.known_pushes`. Its conditions are those of the query, so that the planner sees which index fits.
struct PushSearch {
    private(set) var parameters: [Parameter] = []
    private(set) var sql = ""

    init(_ query: PushQuery, partitions: Int) {
        let lateAfter = bind(.int(query.lateAfter))
        let limit = bind(.int(query.limit + 1))
        var source = OpsStore.partitions
        var conditions = ["p.partition = b.partition"]
        if let device = query.device {
            let key = AggregateKey.device(device)
            source = "(SELECT \(bind(.partition(key.partition(of: partitions)))) AS partition)"
            conditions.append("p.key = \(bind(.key(key)))")
        }
        if let fleet = query.fleet { conditions.append("p.fleet = \(bind(.text(fleet)))") }
        if let app = query.app { conditions.append("p.app = \(bind(.text(app)))") }
        if let type = query.type { conditions.append("p.type = \(bind(.text(type)))") }
        if let from = query.from { conditions.append("p.sent_at >= \(bind(.instant(from)))") }
        if let to = query.to { conditions.append("p.sent_at < \(bind(.instant(to)))") }
        if let last = query.cursor {
            let sentAt = bind(.int(last.sentAt))
            let place = "(\(bind(.partition(last.partition))), \(bind(.int(last.offset))))"
            conditions.append("p.sent_at <= \(sentAt)")
            conditions.append("(p.sent_at < \(sentAt) OR (p.partition, p.log_offset) < \(place))")
        }
        switch query.verdict {
        case .inTime: conditions.append("p.arrived_at - p.sent_at <= \(lateAfter)")
        case .late: conditions.append("p.arrived_at - p.sent_at > \(lateAfter)")
        case .never: conditions.append("p.arrived_at IS NULL AND \(Self.ended) AND NOT \(Self.refused)")
        case .pending: conditions.append("p.arrived_at IS NULL AND NOT \(Self.ended)")
        case .refused: conditions.append(Self.refused)
        case nil: break
        }
        sql = Self.sql(from: source, conditions, lateAfter, limit)
    }

    init(_ notification: String, lateAfter: Int) {
        let lateAfter = bind(.int(lateAfter))
        let conditions = ["p.partition = b.partition", "p.notification = \(bind(.text(notification)))"]
        sql = Self.sql(from: OpsStore.partitions, conditions, lateAfter, "1")
    }

    private static let refused = "p.status LIKE 'Refused%'"
    private static let ended = "ops.push_ended(p.status, p.acknowledged, p.waking)"

    /// Returns the statement. It has one scan per partition, because the indexes begin with it.
    private static func sql(
        from source: String, _ conditions: [String], _ lateAfter: String, _ limit: String
    ) -> String {
        """
        SELECT p.partition, p.log_offset, p.sent_at, p.key, p.app, p.fleet, p.notification, p.type, p.priority,
            p.collapse_id, p.channel, p.apns_id, p.expires_at, p.delivered_at, p.woke_at, p.arrived_at, p.shown_at,
            p.status, p.cause, p.event::text, v.verdict, ops.push_why(v.verdict, p.status, p.wait), p.wait_event
        FROM \(source) AS b CROSS JOIN LATERAL (
            SELECT * FROM ops.known_pushes AS p WHERE \(conditions.joined(separator: " AND "))
            ORDER BY p.sent_at DESC, p.log_offset DESC LIMIT \(limit)) AS p
        CROSS JOIN LATERAL (
            SELECT ops.push_verdict(p.status, p.sent_at, p.arrived_at, \(ended), \(lateAfter)) AS verdict) AS v
        ORDER BY p.sent_at DESC, p.partition DESC, p.log_offset DESC LIMIT \(limit)
        """
    }

    /// Adds a parameter, and returns its name.
    private mutating func bind(_ parameter: Parameter) -> String {
        parameters.append(parameter)
        return "$\(parameters.count)"
    }
}

extension FoundPush {
    fileprivate init(_ columns: Row) throws(PostgresError) {
        let (partition, offset, sentAt, key, app, fleet, notification, type, priority) = try columns.decode(
            (Int, Int, Instant, AggregateKey, String?, String?, String, String, Int).self, at: 0)
        let (collapseID, channel, apnsID, expiration, deliveredAt, wokeAt, arrivedAt, shownAt) = try columns.decode(
            (String?, String?, String?, Instant?, Instant?, Instant?, Instant?, Instant?).self, at: 9)
        let (outcome, cause, event, verdict, why, wait) = try columns.decode(
            (String, String?, String, String, String?, UUID?).self, at: 17)
        row = PushRow(
            apnsID: apnsID, app: app, arrivedAt: arrivedAt, cause: cause, channel: channel, collapseID: collapseID,
            delay: arrivedAt.map { $0 - sentAt }, deliveredAt: deliveredAt, device: key.device ?? key.description,
            event: event, expiration: expiration, fleet: fleet, notification: notification, outcome: outcome,
            priority: priority, sentAt: sentAt, shownAt: shownAt, type: type,
            verdict: PushVerdict(rawValue: verdict) ?? .pending, why: why, wokeAt: wokeAt)
        position = PushPosition(sentAt: Int(sentAt.milliseconds), partition: partition, offset: offset)
        self.wait = wait
    }
}
