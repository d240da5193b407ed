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
            access: .scope(.read),
            parameters: [
                .number("interval", 60...86_400, "Seconds per point, in whole minutes; 60 by default"),
                .moment("since", "The first point contains this time"),
                .moment("until", "The points end before this time; now by default"),
            ],
            response: Stats.self, problems: [.invalidQuery] + Problem.ofLog, unknownQuery: .refusedByHandler
        ) { request, _ in
            let query = try StatsQuery(request)
            return Response(try await asking { try await store.stats(try query.window(at: try await store.now())) })
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
    private var interval = 60
    private var since: Instant?
    private var until: Instant?

    init(_ request: Request) throws(Problem) {
        var faults: [FieldError] = []
        for (key, value) in request.uri.queryParameters {
            let text = String(value)
            switch key {
            case "interval":
                if let interval = Int(text), (60...86_400).contains(interval), interval.isMultiple(of: 60) {
                    self.interval = interval
                } else {
                    faults.append(
                        FieldError(pointer: "/interval", detail: "must be a multiple of 60 seconds, from 60 to 86400"))
                }
            case "since", "until":
                if let instant = Instant(text) {
                    if key == "since" { since = instant } else { until = instant }
                } else {
                    faults.append(FieldError(pointer: "/\(key)", detail: "must be a date and time by RFC 3339"))
                }
            default:
                let pointer = isIdentifier(String(key)) ? "/\(key)" : ""
                faults.append(
                    FieldError(
                        pointer: pointer,
                        detail: "is not a parameter of this route; the parameters are interval, since, until"))
            }
        }
        guard faults.isEmpty else {
            throw .query(faults)
        }
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
