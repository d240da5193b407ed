import Contracts
import EventLog
import Foundation
import Postgres
import Timeline

// The events of a report. Each statement reads at most ``chunk`` offsets of one partition, because a long snapshot would
// slow the updates of the heads.
extension OpsStore {
    /// The most offsets of a statement.
    private static let chunk = 20_000
    /// The most apps or devices of a statement.
    private static let batch = 1000

    // The blocks that may have events of the range.
    private static let spans = Statement(
        """
        SELECT o.partition, min(o.block) * 512, least(max(o.block) * 512 + 512, max(r.log_offset))
        FROM ops.blocks AS o JOIN bus.readers AS r ON r.partition = o.partition AND r.reader = 'ops'
        WHERE o.latest >= $1 AND o.earliest < $2 GROUP BY o.partition ORDER BY o.partition
        """)
    private static let isWanted = """
        e.partition = $1 AND e.log_offset > $2 AND e.log_offset <= $3 AND e.time >= $4 AND e.time < $5
            AND ($6::text IS NULL OR e.key IN (
                SELECT k.key FROM ops.known_devices AS k WHERE k.partition = $1 AND k.fleet = $6))
        """
    private static let facts = Statement(
        """
        SELECT \(LogFact.columns) FROM bus.events AS e CROSS JOIN LATERAL \(LogFact.members)
        WHERE \(isWanted) AND e.type = ANY ($7) ORDER BY e.log_offset
        """)
    private static let count = Statement("SELECT count(*) FROM bus.events AS e WHERE \(isWanted)")
    // One scan per partition, because the index begins with it.
    private static let devicesOfFleet = Statement(
        """
        SELECT d.key, d.time_zone FROM \(partitions) AS p JOIN ops.known_devices AS d USING (partition)
        WHERE ($1::text IS NULL OR d.fleet = $1) AND d.registered_at < $2
        """)
    private static let appsOfFleet = Statement(
        """
        SELECT a.key, a.app, a.state, a.since < $2 FROM ops.known_apps AS a JOIN ops.known_devices AS d USING (partition, key)
        WHERE $1::text IS NULL OR d.fleet = $1
        """)
    // The latest change of a state before the range. An app that was only installed does not run.
    private static let earlierStates = Statement(
        """
        SELECT s.key, s.app, nullif(s.state, '') FROM (
            SELECT a.key, a.app, (
                SELECT CASE WHEN e.type IN ('lifecycle.app.uninstalled', 'lifecycle.device.deregistered') THEN ''
                    ELSE coalesce(e.data ->> 'state', 'notRunning') END
                FROM bus.events AS e
                WHERE e.partition = p.partition AND e.key = a.key AND e.time < $4
                    AND (e.app = a.app AND e.type LIKE 'lifecycle.app.%' AND (e.data ->> 'state' IS NOT NULL
                            OR e.type = 'lifecycle.app.uninstalled')
                        OR e.type = 'lifecycle.device.deregistered')
                ORDER BY e.log_offset DESC LIMIT 1) AS state
            FROM unnest($1::int4[], $2::text[], $3::text[]) AS a (partition, key, app)
            JOIN bus.partitions AS p ON p.partition = a.partition) AS s
        WHERE s.state IS NOT NULL
        """)
    private static let earlierInstallations = Statement(
        """
        SELECT a.key, a.app FROM unnest($1::int4[], $2::text[], $3::text[]) AS a (partition, key, app)
        JOIN bus.partitions AS p ON p.partition = a.partition
        WHERE EXISTS (
            SELECT 1 FROM bus.events AS e WHERE e.partition = p.partition AND e.key = a.key AND e.time < $4 AND e.app = a.app
                AND e.type = 'lifecycle.app.installed')
        """)
    private static let earlierNetworks = Statement(
        """
        SELECT n.key, n.kind FROM (
            SELECT d.key, (
                SELECT e.data #>> '{network,kind}' FROM bus.events AS e
                WHERE e.partition = p.partition AND e.key = d.key AND e.time < $3 AND e.type = 'transfer.device.updated'
                    AND e.data #>> '{network,kind}' IS NOT NULL
                ORDER BY e.log_offset DESC LIMIT 1) AS kind
            FROM unnest($1::int4[], $2::text[]) AS d (partition, key)
            JOIN bus.partitions AS p ON p.partition = d.partition) AS n
        WHERE n.kind IS NOT NULL
        """)

    /// Returns the parts of the log that have all events of a time range, as far as they are counted.
    func spans(from: Instant, until: Instant) async throws(PostgresError) -> [LogSpan] {
        try await pool.execute(Self.spans, .instant(from), .instant(until)).decode((Int, Int, Int).self)
            .map { LogSpan(partition: $0, low: $1, high: $2) }.filter { $0.low < $0.high }
    }

    /// Returns the devices of a fleet by their keys, with their time zones.
    ///
    /// - Parameter fleet: nil for all devices.
    func devices(ofFleet fleet: String?, registeredBefore until: Instant) async throws(PostgresError) -> [String:
        String?]
    {
        let rows = try await pool.execute(Self.devicesOfFleet, .text(fleet), .instant(until))
            .decode((String, String?).self)
        return Dictionary(rows.map { ($0, $1) }) { first, _ in first }
    }

    /// Returns the installed apps of a fleet, each with its state at a time; nil if it was not installed then.
    func apps(
        ofFleet fleet: String?, at time: Instant, partitions: Int
    ) async throws(PostgresError) -> [LogFigures.AppKey: AppState?] {
        var states: [LogFigures.AppKey: AppState?] = [:]
        var changed: [LogFigures.AppKey] = []
        let known = try await pool.execute(Self.appsOfFleet, .text(fleet), .instant(time))
        for (key, app, state, isOld) in try known.decode((String, String, String, Bool).self) {
            let name = LogFigures.AppKey(key: key, app: app)
            states[name] = .some(isOld ? AppState(rawValue: state) : nil)
            if !isOld { changed.append(name) }
        }
        for start in stride(from: 0, to: changed.count, by: Self.batch) {
            let batch = changed[start..<min(start + Self.batch, changed.count)]
            let parameters: [Parameter] = [
                .int4s(batch.map { Int32(AggregateKey($0.key).partition(of: partitions)) }), .texts(batch.map(\.key)),
                .texts(batch.map(\.app)), .instant(time),
            ]
            let answers = try await pool.execute([
                Query(Self.earlierInstallations, parameters), Query(Self.earlierStates, parameters),
            ])
            for (key, app) in try answers[0].decode((String, String).self) {
                states[LogFigures.AppKey(key: key, app: app)] = .notRunning
            }
            for (key, app, state) in try answers[1].decode((String, String, String?).self) {
                states[LogFigures.AppKey(key: key, app: app)] = .some(state.flatMap(AppState.init))
            }
        }
        return states
    }

    /// Returns the kinds of network that devices had at a time.
    func networks(
        of keys: [String], at time: Instant, partitions: Int
    ) async throws(PostgresError) -> [String: String] {
        var networks: [String: String] = [:]
        for start in stride(from: 0, to: keys.count, by: Self.batch) {
            let batch = keys[start..<min(start + Self.batch, keys.count)]
            let rows = try await pool.execute(
                Self.earlierNetworks, .int4s(batch.map { Int32(AggregateKey($0).partition(of: partitions)) }),
                .texts(Array(batch)), .instant(time))
            for (key, kind) in try rows.decode((String, String).self) { networks[key] = kind }
        }
        return networks
    }

    /// Adds the events of a part of the log to figures.
    func add(
        _ span: LogSpan, from: Instant, until: Instant, fleet: String?, to figures: inout LogFigures
    ) async throws(PostgresError) {
        var low = span.low
        while low < span.high {
            let high = min(low + Self.chunk, span.high)
            let range: [Parameter] = [
                .partition(span.partition), .int(low), .int(high), .instant(from), .instant(until), .text(fleet),
            ]
            let answers = try await pool.execute([
                Query(Self.count, range, rowsExpected: 1), Query(Self.facts, range + [.texts(LogFact.types)]),
            ])
            figures.events += try answers[0][0].decode(Int.self)
            for row in answers[1] { figures.add(try LogFact(row)) }
            low = high
        }
    }
}
