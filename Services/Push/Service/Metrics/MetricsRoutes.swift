import Contracts
import HTTPTypes
import Hummingbird
import Records
import ServiceKit
import Timeline

/// What operators ask of all notifications together.
struct MetricsRoutes: Sendable {
    let counts: NotificationCounts
    let clock: any SuiteClock

    /// More are not answered at once.
    static let limit = 10_000
    /// Longer times are not asked for at once, in hours.
    static let longest = 31 * 24

    func add(to table: inout RouteTable) {
        table.add(
            .get, "/v1/metrics/notifications",
            "How often notifications came to each status, by hour, topic and type; a second behind at most",
            access: .scope(.read),
            parameters: [
                RouteParameter("app", in: .query, "Of this app only", String.schema),
                RouteParameter("type", in: .query, "Of this type only", PushType.schema),
                RouteParameter(
                    "from", in: .query, "From the hour of this moment on; 24 hours before `to` where it is missing",
                    Instant.schema),
                RouteParameter(
                    "to", in: .query, "Up to the hour of this moment; now where it is missing", Instant.schema),
            ],
            response: NotificationCountList.self, problems: [.invalidQuery]
        ) { request, _ in
            let query = request.uri.queryParameters
            let to = try instant(query["to"], "to") ?? clock.now
            let from = try instant(query["from"], "from") ?? to - .hours(24)
            let hours = hour(from)..<max(hour(from), hour(to) + 1)
            guard from <= to, hours.count <= Self.longest + 1 else {
                throw Problem.invalidQuery.because("from must be before to, by 31 days at most")
            }
            let type = try request.query("type", of: PushType.self)
            var list = NotificationCountList()
            list.items = try await counts.find(
                hours, app: query["app"].map { String($0) }, type: type, limit: Self.limit + 1)
            guard list.items.count <= Self.limit else {
                throw Problem.invalidQuery.because("there are more than \(Self.limit) counts: ask for less")
            }
            return Response(list)
        }
    }

    private func instant(_ text: Substring?, _ name: String) throws(Problem) -> Instant? {
        guard let text else { return nil }
        guard let instant = Instant(String(text)) else {
            throw .invalidQuery.because("\(name) must be a moment such as 2026-11-21T07:40:00Z")
        }
        return instant
    }

    private func hour(_ instant: Instant) -> Int { Int(instant.milliseconds / Interval.hours(1).milliseconds) }
}

/// How often notifications of an app and a type came to a status within an hour.
struct NotificationCount: Record {
    /// When it began.
    var hour = Instant.epoch
    var app = ""
    var topic = ""
    var pushType = PushType.alert
    var status = ConsoleStatus.received
    var count = 0

    mutating func visit<V: FieldVisitor>(_ fields: inout V) {
        fields.field("app", &app)
        fields.field("count", &count)
        fields.field("hour", &hour)
        fields.field("pushType", &pushType)
        fields.field("status", &status)
        fields.field("topic", &topic)
    }
}

struct NotificationCountList: Record {
    var items: [NotificationCount] = []

    mutating func visit<V: FieldVisitor>(_ fields: inout V) { fields.field("items", &items) }
}
