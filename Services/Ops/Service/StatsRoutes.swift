import HTTPKit
import Hummingbird
import Identity
import Postgres
import Records
import Timeline

/// Statistics from stored counts. Their cost does not depend on the size of the log.
struct StatsRoutes: Sendable {
    let store: OpsStore

    func add(to table: inout RouteTable) {
        table.add(
            .get, "/v1/stats",
            "Returns the counts of events, wakes, pushes and transfers; the last 60 points by default",
            .scope(.read),
            .parameters(
                .text("fleet", "Only events of devices that were in this fleet then"),
                .number("interval", 60...86_400, "Seconds per point, in whole minutes; 60 by default"),
                .moment("since", "The first point contains this time"),
                .moment("until", "The points end before this time; now by default")),
            .refuses([.invalidQuery] + Problem.ofLog), .unknownQuery(.refusedByHandler)
        ) { call in
            let query = try StatsQuery(call)
            return Reply(
                try await asking {
                    try await store.stats(try query.window(at: try await store.now()), of: query.fleet)
                })
        }
    }
}

/// The requested points.
struct StatsWindow {
    static let mostPoints = 1440
    /// Seconds per point.
    let interval: Int
    /// Seconds since 1970; `since` and `until` are multiples of the interval.
    let since: Int
    let until: Int

    /// The widest stored counts that divide the interval, in seconds.
    var width: Int { [86_400, 3600].first { interval.isMultiple(of: $0) } ?? 60 }
    var points: Int { (until - since) / interval }
}

/// The query of `/v1/stats`.
struct StatsQuery {
    let fleet: String?
    private let interval: Int
    private let since: Instant?
    private let until: Instant?

    init(_ call: Call) throws(Problem) {
        var query = QueryReader(call)
        fleet = query.identifier("fleet")
        let range = call.route.range(of: "interval")
        interval =
            query.value("interval", "must be a multiple of 60 seconds, from 60 to 86400") { text in
                Int(text).flatMap { range.contains($0) && $0.isMultiple(of: 60) ? $0 : nil }
            } ?? 60
        since = query.value("since", "must be a date and time by RFC 3339") { Instant($0) }
        until = query.value("until", "must be a date and time by RFC 3339") { Instant($0) }
        try query.finish()
    }

    /// Returns whole points: the first contains `since`, the last ends at or after `until`.
    func window(at now: Instant) throws(Problem) -> StatsWindow {
        let milliseconds = Int64(interval) * 1000
        func point(_ instant: Instant, roundedUp: Bool) -> Int {
            let (points, rest) = instant.milliseconds.quotientAndRemainder(dividingBy: milliseconds)
            return (Int(points) + (roundedUp && rest > 0 ? 1 : 0)) * interval
        }
        let end = point(until ?? now, roundedUp: true)
        let start = since.map { point($0, roundedUp: false) } ?? end - 60 * interval
        let window = StatsWindow(interval: interval, since: start, until: end)
        guard window.points > 0, window.points <= StatsWindow.mostPoints else {
            let detail =
                window.points > 0
                ? "gives \(window.points) points of \(interval) s after since; the maximum is \(StatsWindow.mostPoints)"
                : "must be after since"
            throw .query([FieldError(pointer: "/until", detail: detail)])
        }
        return window
    }
}
