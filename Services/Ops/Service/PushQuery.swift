import Contracts
import EventLog
import HTTPKit
import Hummingbird
import Postgres
import Records
import Timeline

/// The query of `/v1/pushes`. It reports all invalid parameters, not only the first.
struct PushQuery {
    /// Silent notifications, and the push types of all others.
    static let types = ["silent"] + PushType.allCases.map(\.rawValue)
    /// Seconds.
    static let usualDelay = 30
    static let lateAfter = RouteParameter.number(
        "lateAfter", 0...31_536_000, "The delay in seconds after which a push is late; \(usualDelay) by default")
    static let parameters: [RouteParameter] = [
        .text("fleet", "Only pushes to devices of this fleet"), .text("device", "Only pushes to this device"),
        .text("app", "Only pushes to this app"),
        RouteParameter(
            "type", in: .query, "Only silent pushes, or the others of this push type",
            ["type": "string", "enum": .array(types.map { .string($0) })]),
        RouteParameter("verdict", in: .query, "Only pushes with this verdict", PushVerdict.schema),
        .moment("from", "Only pushes sent at or after this time"), .moment("to", "Only pushes sent before this time"),
        lateAfter, .number("limit", 1...1000, "The maximum number of pushes; 100 by default"),
        .cursor,
    ]

    var fleet: String?
    var device: String?
    var app: String?
    var type: String?
    var verdict: PushVerdict?
    var from: Instant?
    var to: Instant?
    /// Milliseconds.
    var lateAfter = usualDelay * 1000
    var limit = 100
    var cursor: PushPosition?

    /// Selects the newest pushes.
    init() {}

    /// - Throws: `invalid_query` with each invalid parameter; `earlier_incarnation`.
    init(_ call: Call) throws(Problem) {
        var query = QueryReader(call)
        query.refuseRepeats()
        fleet = query.identifier("fleet")
        device = query.identifier("device")
        app = query.identifier("app")
        type = query.value("type", "must be one of \(Self.types.joined(separator: ", "))") { text in
            Self.types.contains(text) ? text : nil
        }
        let verdicts = PushVerdict.allCases.map(\.rawValue).joined(separator: ", ")
        verdict = query.value("verdict", "must be one of \(verdicts)") { PushVerdict(rawValue: $0) }
        from = query.instant("from")
        to = query.instant("to")
        if let from, let to, from >= to { query.refuse("to", "must be after from") }
        lateAfter = (query.number("lateAfter") ?? Self.usualDelay) * 1000
        limit = query.number("limit") ?? 100
        cursor = query.value("cursor", "must be the next of a page") {
            PushCursor(LogIncarnation.plain($0))?.position
        }
        try query.finish()
        try query.refuseEarlierIncarnations(in: ["cursor"], call)
    }
}
