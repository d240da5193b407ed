import HTTPKit
import Hummingbird
import Identity
import Postgres
import Records
import Timeline

/// Statistics from stored counts. Their cost does not depend on the size of the log.
struct StatsRoutes: Sendable {
    let pool: ConnectionPool

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
            return Response(try await asking { try await stats(query) })
        }
    }

    private static let now = Statement("SELECT bus.suite_time(bus.real_now())")
    // One scan per partition, because the index begins with it; OFFSET stops the planner from choosing another way.
    // The inner query adds up the partitions before the series are computed.
    private static let counts = Statement(
        """
        SELECT GROUPING(c.type) = 0, c.type, c.label, c.point, c.series, sum(c.events)::int8, sum(c.amount)::int8
        FROM (
            SELECT c.*, CASE c.type WHEN 'lifecycle.app.woken' THEN 'woken' WHEN 'lifecycle.wake.refused' THEN 'refused'
                WHEN 'lifecycle.app.terminated' THEN 'killed'
                ELSE CASE WHEN c.type LIKE 'push.%' AND split_part(c.label, ' ', 1) IN ('Delivered', 'Stored', 'Held', 'Discarded')
                    THEN lower(split_part(c.label, ' ', 1)) ELSE split_part(c.type, '.', 1) END END AS series
            FROM (
                SELECT (c.start - $2) / $4 AS point, c.type, c.label, sum(c.events) AS events, sum(c.amount) AS amount
                FROM bus.partitions AS p CROSS JOIN LATERAL (
                    SELECT * FROM ops.counts AS c
                    WHERE c.partition = p.partition AND c.width = $1 AND c.start >= $2 AND c.start < $3
                    OFFSET 0) AS c
                GROUP BY 1, 2, 3) AS c) AS c
        GROUP BY GROUPING SETS ((c.type, c.label), (c.point, c.series))
        """)
    private static let totals = Statement("SELECT name, sum(total)::int8 FROM ops.totals GROUP BY name")
    private static let devicesOff = Statement("SELECT count(*) FROM ops.known_devices WHERE NOT powered")
    private static let lag = Statement(
        """
        SELECT coalesce(sum(p.head - r.log_offset), 0)::int8
        FROM bus.readers AS r JOIN bus.partitions AS p USING (partition) WHERE r.reader = 'ops'
        """)

    private func stats(_ query: StatsQuery) async throws -> Stats {
        let now = Instant(milliseconds: Int64(try await pool.execute(Query(Self.now, rowsExpected: 1))[0].int(0)))
        let window = try query.window(at: now)
        let answers = try await pool.execute([
            Query(
                Self.counts,
                [
                    .int4(Int32(window.width)), .int(window.since), .int(window.until), .int(window.interval),
                ]),
            Query(Self.totals), Query(Self.devicesOff, rowsExpected: 1), Query(Self.lag, rowsExpected: 1),
        ])
        var stats = Stats(window)
        for row in answers[0] {
            let (events, amount) = (try row.int(5), try row.int(6))
            if try row.bool(0) {
                stats.count(try row.text(1), try row.text(2), events, amount)
            } else {
                stats.count(point: try row.int(3), series: try row.text(4), events, amount)
            }
        }
        stats.sort()
        stats.now = try StatsNow(
            answers[1].map { row throws(PostgresError) in (try row.text(0), try row.int(1)) },
            devicesOff: answers[2][0].int(0))
        stats.lag = try answers[3][0].int(0)
        return stats
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
