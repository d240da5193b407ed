import Contracts
import HTTPKit
import HTTPTypes
import Hummingbird
import Identity
import Records
import Timeline

/// The route of the notification counts.
struct MetricsRoutes: Sendable {
    let store: PushStore
    let clock: any SuiteClock

    /// The largest number of counts in an answer.
    static let limit = 10_000
    /// The longest range, in hours.
    static let longest = 31 * 24

    func add(to table: inout RouteTable) {
        table.add(
            .get, "/v1/metrics/notifications",
            "Counts of notification statuses by hour, topic and type, about one second behind",
            .scope(.read),
            .parameters(
                .text("app", "Only this app"),
                .text("fleet", "Only devices that were in this fleet then"),
                RouteParameter("type", in: .query, "Only this push type", PushType.schema),
                .moment("from", "The first hour is the one of this time; by default 24 hours before `to`"),
                .moment("to", "The last hour is the one of this time; now by default")),
            .refuses([.invalidQuery])
        ) { try await list($0.request) }
    }

    private func list(_ request: Request) async throws -> Reply<NotificationCountList> {
        let query = request.uri.queryParameters
        let to = try instant(query["to"], "to") ?? clock.now
        let from = try instant(query["from"], "from") ?? to - .hours(24)
        let hours = hour(from)..<max(hour(from), hour(to) + 1)
        guard from <= to, hours.count <= Self.longest + 1 else {
            throw Problem.invalidQuery.with(detail: "from must not be after to, and the range is at most 31 days")
        }
        let type = try request.query("type", of: PushType.self)
        var list = NotificationCountList()
        list.items = try await store.counts(
            hours, app: query["app"].map { String($0) }, type: type, fleet: query["fleet"].map { String($0) },
            limit: Self.limit + 1)
        guard list.items.count <= Self.limit else {
            throw Problem.invalidQuery.with(
                detail: "more than \(Self.limit) counts: choose a shorter range, an app or a type")
        }
        return Reply(list)
    }

    private func instant(_ text: Substring?, _ name: String) throws(Problem) -> Instant? {
        guard let text else { return nil }
        guard let instant = Instant(String(text)) else {
            throw .invalidQuery.with(detail: "\(name) must be a time such as 2026-11-21T07:40:00Z")
        }
        return instant
    }

    private func hour(_ instant: Instant) -> Int { Int(instant.milliseconds / Interval.hours(1).milliseconds) }
}

/// The number of times that notifications of an app and a type reached a status within an hour.
struct NotificationCount: Record {
    var app = ""
    var count = 0
    /// The start of the hour.
    var hour = Instant.epoch
    var pushType = PushType.alert
    var status = ConsoleStatus.received
    var topic = ""
}

struct NotificationCountList: Record {
    var items: [NotificationCount] = []
}
