import EventLog
import Postgres
import Timeline

// Statistics from stored counts.
extension OpsStore {
    private static let now = Statement("SELECT bus.suite_time(bus.real_now())")
    // One scan per partition, because the index begins with it; OFFSET stops the planner from choosing another way.
    // The inner query adds up the partitions before the series are computed.
    private static let counts = counts(where: "true")
    // A statement of its own, so that it always uses the index by fleet.
    private static let fleetCounts = counts(where: "c.fleet = $5")

    private static func counts(where condition: String) -> Statement {
        Statement(
            """
            SELECT GROUPING(c.type) = 0, c.type, c.label, c.point, c.series, sum(c.events)::int8, sum(c.amount)::int8
            FROM (
                SELECT c.*, CASE c.type WHEN 'lifecycle.app.woken' THEN 'woken' WHEN 'lifecycle.wake.refused' THEN 'refused'
                    WHEN 'lifecycle.app.terminated' THEN 'killed'
                    ELSE CASE WHEN c.type LIKE 'push.%' AND split_part(c.label, ' ', 1) IN ('Delivered', 'Stored', 'Held', 'Replaced', 'Discarded')
                        THEN lower(split_part(c.label, ' ', 1)) ELSE split_part(c.type, '.', 1) END END AS series
                FROM (
                    SELECT (c.start - $2) / $4 AS point, c.type, c.label, sum(c.events) AS events, sum(c.amount) AS amount
                    FROM \(partitions) AS p CROSS JOIN LATERAL (
                        SELECT * FROM ops.counts AS c
                        WHERE c.partition = p.partition AND c.width = $1 AND c.start >= $2 AND c.start < $3
                            AND \(condition)
                        OFFSET 0) AS c
                    GROUP BY 1, 2, 3) AS c) AS c
            GROUP BY GROUPING SETS ((c.type, c.label), (c.point, c.series))
            """)
    }
    private static let totals = Statement("SELECT name, sum(total)::int8 FROM ops.totals GROUP BY name")
    private static let fleetTotals = Statement(
        """
        SELECT 'devices', count(*) FROM ops.known_devices WHERE fleet = $1
        UNION ALL
        SELECT a.state, count(*) FROM ops.known_devices AS d JOIN ops.known_apps AS a USING (partition, key)
        WHERE d.fleet = $1 GROUP BY a.state
        """)
    private static let devicesOff = Statement(
        "SELECT count(*) FROM ops.known_devices WHERE NOT powered AND ($1::text IS NULL OR fleet = $1)")
    // Most devices have some of these conditions, so an index would not help.
    private static let conditions = Statement(
        """
        SELECT count(*) FILTER (WHERE locked), count(*) FILTER (WHERE low_power_mode), count(*) FILTER (WHERE charging),
            count(*) FILTER (WHERE battery_level < \(StatsNow.lowBattery) / 100.0::double precision)
        FROM ops.known_devices WHERE $1::text IS NULL OR fleet = $1
        """)

    /// Returns the suite time.
    func now() async throws(PostgresError) -> Instant {
        try await pool.execute(Self.now, rowsExpected: 1)[0].decode(Instant.self)
    }

    /// Returns the counts of a window.
    ///
    /// - Parameter fleet: only events and devices of this fleet; nil for all.
    func stats(_ window: StatsWindow, of fleet: String? = nil) async throws(PostgresError) -> Stats {
        let range: [Parameter] = [
            .int4(Int32(window.width)), .int(window.since), .int(window.until), .int(window.interval),
        ]
        let answers = try await pool.execute([
            fleet.map { Query(Self.fleetCounts, range + [.text($0)]) } ?? Query(Self.counts, range),
            fleet.map { Query(Self.fleetTotals, .text($0)) } ?? Query(Self.totals),
            Query(Self.devicesOff, .text(fleet), rowsExpected: 1), Query(Self.behind, rowsExpected: 1),
            Query(Self.conditions, .text(fleet), rowsExpected: 1),
        ])
        var stats = Stats(window)
        let counts = try answers[0].decode((Bool, String?, String?, Int?, String?, Int, Int).self)
        for (isOfType, type, label, point, series, events, amount) in counts {
            if isOfType, let type, let label {
                stats.count(type, label, events, amount)
            } else if let point, let series {
                stats.count(point: point, series: series, events, amount)
            }
        }
        stats.sort()
        stats.now = StatsNow(
            try answers[1].decode((String, Int).self).map { ($0, $1) }, devicesOff: try answers[2][0].decode(Int.self))
        let (locked, inLowPowerMode, charging, low) = try answers[4][0].decode((Int, Int, Int, Int).self)
        stats.now.devicesLocked = locked
        stats.now.devicesInLowPowerMode = inLowPowerMode
        stats.now.devicesCharging = charging
        stats.now.devicesLowOnBattery = low
        stats.lag = try answers[3][0].decode(Int.self)
        return stats
    }
}
