import Foundation
import HTTPKit
import Hummingbird
import Identity
import Postgres
import Records
import Timeline

/// The audit trail over HTTP.
struct AuditRoutes: Sendable {
    let store: OpsStore

    func add(to table: inout RouteTable) {
        table.add(
            .get, "/v1/audit", "Lists who did what, to what, when and from where, newest first", .scope(.read),
            .parameters(AuditQuery.parameters), .refuses([.invalidQuery] + Problem.ofLog),
            .unknownQuery(.refusedByHandler)
        ) { call in
            let query = try AuditQuery(call)
            return Reply(try await asking { try await store.audit(query) })
        }
    }
}

/// The query of `/v1/audit`. It reports all invalid parameters, not only the first.
struct AuditQuery {
    static let parameters: [RouteParameter] = [
        .text("action", "Only this action, for example `fleetToken.issued`"),
        .text("actor", "Only actions of this operator's key, fleet, device or user of the machine"),
        .text("subject", "Only actions on this subject, for example `fleet:blue`"),
        .moment("since", "Only actions at or after this real time"),
        .moment("until", "Only actions before this real time"),
        .number("limit", 1...1000, "The maximum number of rows; 100 by default"),
        .text("cursor", "The `next` of the previous page"),
    ]

    var action: String?
    var actor: String?
    var subject: String?
    var since: Instant?
    var until: Instant?
    var limit = 100
    var cursor: AuditPosition?

    init(_ call: Call) throws(Problem) {
        var query = QueryReader(call)
        query.refuseRepeats()
        action = query.identifier("action")
        // The names of keys and users may have other characters than identifiers.
        actor = query.value("actor", "must have 1 to 128 characters") { text in
            (1...128).contains(text.utf8.count) && !text.utf8.contains(0) ? text : nil
        }
        subject = query.value("subject", "must have 1 to 300 characters") { text in
            (1...300).contains(text.utf8.count) && !text.utf8.contains(0) ? text : nil
        }
        since = query.instant("since")
        until = query.instant("until")
        if let since, let until, since >= until { query.refuse("until", "must be after since") }
        limit = query.number("limit") ?? 100
        cursor = query.value("cursor", "must be the next of a page") { AuditCursor($0)?.position }
        try query.finish()
    }
}

/// A row of the audit trail.
struct AuditRow: Record {
    var action = ""
    /// The name of the operator's key, the fleet, the device, the provider's team or certificate, or the user of the
    /// machine.
    var actor: Nullable<String> = nil
    /// The kind of the actor's credential: `operator`, `fleet`, `device`, `provider`, `commandLine` or
    /// `anonymous`.
    var actorKind = ""
    /// The address of the client as the service saw it; `other` stands for many.
    var address: Nullable<String> = nil
    /// Real time.
    var at = Instant.epoch
    /// The number of equal actions that the row stands for.
    var count = 1
    /// Further facts.
    var details: JSON = [:]
    var id = ""
    /// The service that the actor called.
    var service = ""
    var subject: Nullable<String> = nil
}
