import EventLog
import Foundation
import Postgres
import Records
import Timeline

// The audit trail.
extension OpsStore {
    /// Returns a page of the audit trail, newest first.
    func audit(_ query: AuditQuery) async throws(PostgresError) -> Page<AuditRow> {
        let search = AuditSearch(query)
        let found = try await pool.execute(Query(Statement(search.sql), search.parameters)).map(FoundAudit.init)
        var page = Page(found.prefix(query.limit).map(\.row))
        if found.count > query.limit { page.next = AuditCursor(found[query.limit - 1].position).text }
        return page
    }
}

/// A row of ``AuditSearch``.
private struct FoundAudit {
    let row: AuditRow
    let position: AuditPosition

    init(_ columns: Row) throws(PostgresError) {
        let (id, at, service, kind, actor) = try columns.decode(
            (UUID, Instant, String, String, String?).self, at: 0)
        let (address, action, subject, count, details) = try columns.decode(
            (String?, String, String?, Int, String).self, at: 5)
        row = AuditRow(
            action: action, actor: actor, actorKind: kind, address: address, at: at, count: count,
            details: (try? JSON(parsing: Array(details.utf8))) ?? .null, id: id.uuidString.lowercased(),
            service: service, subject: subject)
        position = AuditPosition(at: at, id: id)
    }
}

/// A search in the audit trail. Its conditions are those of the query, so that the planner sees which index fits.
private struct AuditSearch {
    private(set) var parameters: [Parameter] = []
    private(set) var sql = ""

    init(_ query: AuditQuery) {
        var conditions: [String] = []
        if let action = query.action { conditions.append("a.action = \(bind(.text(action)))") }
        if let actor = query.actor { conditions.append("a.actor = \(bind(.text(actor)))") }
        if let subject = query.subject { conditions.append("a.subject = \(bind(.text(subject)))") }
        if let since = query.since { conditions.append("a.at >= \(bind(time(since)))") }
        if let until = query.until { conditions.append("a.at < \(bind(time(until)))") }
        if let last = query.cursor {
            conditions.append("(a.at, a.id) < (\(bind(time(last.at))), \(bind(.uuid(last.id))))")
        }
        sql = """
            SELECT a.id, a.at, a.service, a.actor_kind, a.actor, a.address, a.action, a.subject, a.count, a.details::text
            FROM bus.audit AS a \(conditions.isEmpty ? "" : "WHERE " + conditions.joined(separator: " AND "))
            ORDER BY a.at DESC, a.id DESC LIMIT \(bind(.int(query.limit + 1)))
            """
    }

    private func time(_ instant: Instant) -> Parameter { .timestamp(milliseconds: instant.milliseconds) }

    /// Adds a parameter, and returns its name.
    private mutating func bind(_ parameter: Parameter) -> String {
        parameters.append(parameter)
        return "$\(parameters.count)"
    }
}
