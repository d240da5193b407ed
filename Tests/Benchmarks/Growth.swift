import ArgumentParser
import Contracts
import Foundation
import Postgres
import TestSupport

/// `benchmarks growth`: the cost of a command with more devices, and with a longer log.
struct Growth: AsyncParsableCommand {
    /// A suite before its load.
    struct Size {
        let devices: Int
        let events: Int
    }

    static let configuration = CommandConfiguration(
        commandName: "growth",
        abstract: "Measures the processor time of a command with more devices, and with a longer log.",
        discussion:
            """
            Starts the suite of `benchmarks suite` for each size, over a database that already has the states of so \
            many devices, or so many events of the current day. Each request is one app transition of the next device, \
            with an operator's key. So with 100,000 devices or more, no state is in a cache. 10,000,000 events need 6 \
            GB in the temporary folder.
            """)

    @Option(help: "The duration of each load in seconds. Each size has three.")
    var seconds = 5

    @Option(help: "The number of connections.")
    var connections = 64

    @Option(help: "The largest number of events in the log, from 1000000.")
    var events = 10_000_000

    @Option(help: "Writes a plot to this SVG file.")
    var svg: String?

    func validate() throws {
        guard (1...600).contains(seconds) else { throw ValidationError("--seconds must be from 1 to 600") }
        guard (1...1000).contains(connections) else { throw ValidationError("--connections must be from 1 to 1000") }
        guard (1_000_000...100_000_000).contains(events) else {
            throw ValidationError("--events must be from 1000000 to 100000000")
        }
    }

    func run() async throws {
        let sizes =
            [1000, 100_000, 1_000_000].map { Size(devices: $0, events: 0) }
            + [1_000_000, 10_000_000, 100_000_000].filter { $0 <= events }.map { Size(devices: 1000, events: $0) }
        var costs: [GrowthCost] = []
        for size in sizes {
            Report.progress("\(size.devices) devices, \(size.events) events")
            costs.append(try await measure(size))
        }
        GrowthCost.print(costs)
        if let svg { try GrowthPlot.svg(costs).write(toFile: svg, atomically: true, encoding: .utf8) }
    }

    private func measure(_ size: Size) async throws -> GrowthCost {
        let suite = try await MeasuredSuite.start { try await GrownDatabase.fill($0, events: size.events) }
        let result: Result<GrowthCost, any Error>
        do { result = .success(try await load(suite, size)) } catch { result = .failure(error) }
        try await suite.stop()
        return try result.get()
    }

    private func load(_ suite: MeasuredSuite, _ size: Size) async throws -> GrowthCost {
        let measurement = SuiteMeasurement(
            seconds: seconds, connections: [connections], devices: 1, idleSeconds: 1, hasFleet: false, workers: 0)
        // The states of the other devices are copies of the first one's.
        _ = try await measurement.register(suite)
        _ = try await CatchUp.wait(suite)
        try await GrownDatabase.copyStates(suite.pool, of: "fixture-0", to: size.devices)
        // One load has at most so many commands.
        let used = max(connections, min(size.devices, 200_000))
        let step = size.devices / used
        var scripts = (0..<used).map { suite.transitions(of: GrownDatabase.device($0 * step)) }
        var loads: [SuiteLoad] = []
        for _ in 0..<3 {
            let (load, next) = try await measurement.measure(suite, connections, scripts)
            guard load.commands.failureCount == 0 else {
                throw ToolFailed(description: "commands failed: \(load.commands.failures) \(load.commands.examples)")
            }
            // The next load begins with the devices that had no command.
            let count = Int(load.count) % next.count
            scripts = Array(next[count...] + next[..<count])
            loads.append(load)
        }
        return GrowthCost(size: size, loads: loads)
    }
}

/// The cost of a command at one size.
struct GrowthCost {
    let size: Growth.Size
    let loads: [SuiteLoad]

    /// Microseconds of processor time of a command: the median of the loads.
    func microseconds(_ processes: [String]) -> Double {
        median(loads.map { load in processes.reduce(0) { $0 + load.cost.microseconds($1) } / load.count })
    }

    static let processes = MeasuredSuite.services + ["PostgreSQL"]
    var total: Double { microseconds(Self.processes) }

    /// The processor time of a command in seconds, times the plain answers a second of the same minute: the speed of a
    /// shared machine changes.
    var plainAnswers: Double {
        median(
            loads.map { load in
                let used = Self.processes.reduce(0) { $0 + load.cost.microseconds($1) } / load.count
                return used * load.plain.perSecond / 1e6
            })
    }

    static func print(_ costs: [GrowthCost]) {
        Report.heading("Processor time of a command in µs, median of three loads")
        Table.print(
            ["devices", "events", "commands/s", "p50 ms"] + processes + ["all", "plain answers"],
            costs.map { cost in
                [
                    "\(cost.size.devices)", "\(cost.size.events)",
                    Table.number(median(cost.loads.map(\.commands.perSecond))),
                    Table.number(median(cost.loads.map { $0.commands.milliseconds(0.5) })),
                ] + processes.map { Table.number(cost.microseconds([$0])) } + [
                    Table.number(cost.total), Table.number(cost.plainAnswers),
                ]
            })
        Report.line("  plain answers: the seconds of a command, times the plain answers a second of the same minute.")
        let answers = costs.map(\.plainAnswers)
        Report.bound("greatest ÷ least", (answers.max() ?? .nan) / (answers.min() ?? .nan), "", limit: 1.3)
    }
}

/// A database of the suite with many states or events.
enum GrownDatabase {
    private static let partitions = 16

    static func device(_ number: Int) -> String { "grown-\(number)" }

    /// Appends events of the current day, which every follower of the log has read.
    static func fill(_ pool: ConnectionPool, events: Int) async throws {
        guard events > 0 else { return }
        for partition in 0..<partitions {
            _ = try await pool.execute(
                Query(
                    insert, [.int4(Int32(partition)), .int(events / partitions)],
                    rowsExpected: events / partitions))
        }
        for text in [
            "UPDATE bus.cursors AS c SET log_offset = p.head FROM bus.partitions AS p WHERE p.partition = c.partition",
            """
            INSERT INTO bus.readers (partition, reader, log_offset) SELECT partition, 'ops', head FROM bus.partitions
            ON CONFLICT (partition, reader) DO UPDATE SET log_offset = excluded.log_offset
            """, "VACUUM ANALYZE bus.events", "CHECKPOINT",
        ] { _ = try await pool.execute(Query(Statement(text))) }
    }

    private static let insert = Statement(
        """
        WITH head AS (UPDATE bus.partitions SET head = $2, day = current_date WHERE partition = $1),
        moment AS (SELECT (extract(epoch FROM clock_timestamp()) * 1000)::int8 AS ms)
        INSERT INTO bus.events (partition, log_offset, day, id, source, type, version, key, app, time, correlationid, data)
        SELECT $1, o, current_date,
            (lpad(to_hex(ms), 12, '0') || '7' || substr(md5(o::text), 1, 3) || '8' || substr(md5($1 || 'x' || o), 1, 15))::uuid,
            'lifecycle', 'lifecycle.app.suspended', 1, 'device:past-' || o % 6250 || '-' || $1, 'app', ms,
            (lpad(to_hex(ms), 12, '0') || '7' || substr(md5(o::text), 4, 3) || '8' || substr(md5($1 || 'y' || o), 1, 15))::uuid,
            '{"app":"app","state":"suspended"}'
        FROM moment, generate_series(1, $2::int8) AS o
        """)

    /// Copies the states of a device in every service. No deadline of a copy falls due soon.
    static func copyStates(_ pool: ConnectionPool, of device: String, to count: Int) async throws {
        for part in stride(from: 0, to: count, by: 50_000) {
            let keys = (part..<min(part + 50_000, count)).map { AggregateKey.device(Self.device($0)) }
            let places = keys.map { Int32($0.partition(of: partitions)) }
            for service in MeasuredSuite.services where service != "ops" {
                let copy = Statement(
                    """
                    INSERT INTO "\(service)".states (partition, key, state, machine_version, version, event_count, decided_at,
                        next_deadline)
                    SELECT k.partition, k.key, s.state, s.machine_version, 0, s.event_count, s.decided_at,
                        s.next_deadline + 86400000
                    FROM "\(service)".states AS s, unnest($1::text[], $2::int4[]) AS k (key, partition) WHERE s.key = $3
                    """)
                _ = try await pool.execute(
                    Query(
                        copy,
                        [
                            .texts(keys.map(\.description)), .int4s(places),
                            .text(AggregateKey.device(device).description),
                        ], rowsExpected: keys.count))
            }
        }
        for service in MeasuredSuite.services where service != "ops" {
            _ = try await pool.execute(Query(Statement("VACUUM ANALYZE \"\(service)\".states")))
        }
    }
}
