import Contracts
import EventLog
import Foundation
import Machines
import Postgres
import Records
import Runtime
import TestSupport
import Timeline

/// Compares events that the runtime decides, stores with their states and answers with rows that pgbench inserts.
///
/// pgbench inserts batches of the same size into a table with the same columns and indexes.
struct LogAppends {
    let seconds: Int
    /// The number of workers of Citus; 0 measures one PostgreSQL server. The table of pgbench is on the coordinator.
    let workers: Int
    private static let batch = 200

    func run() async throws {
        Report.heading("Log appends, batches of about \(Self.batch)")
        let fixture = try await CounterBench(workers: workers)
        let seconds = seconds, batch = Self.batch
        try await fixture.running { runtime in
            let plain = try await Self.pgbench(fixture, seconds: seconds)
            let before = try await fixture.events()
            let begun = ContinuousClock.now
            await withTaskGroup(of: Void.self) { group in
                for worker in 0..<batch * CounterBench.partitions {
                    group.addTask {
                        let key = AggregateKey.device("d\(worker)")
                        while begun.duration(to: .now) < .seconds(seconds) {
                            let submission = Submission<Counter>(
                                key: key, command: .add(1), origin: Origin(id: UUID())
                            ) { _, _ in [] }
                            _ = try? await runtime.submit(submission)
                        }
                    }
                }
            }
            let took = begun.duration(to: .now) / .seconds(1)
            let appended = Double(try await fixture.events() - before) / took
            Report.figure("pgbench, events", plain, "per second")
            Report.figure("runtime, commands committed and answered", appended, "per second")
            Report.ratio("runtime ÷ pgbench", appended / plain, reach: 0.4)
        }
    }

    /// Makes the table `plain`, with the columns and indexes of events.
    static func makePlainTable<M>(_ fixture: MachineFixture<M>) async throws {
        try await fixture.cluster.sql(
            """
            CREATE TABLE plain (LIKE bus.events INCLUDING DEFAULTS);
            CREATE SEQUENCE plain_offset CACHE \(batch);
            ALTER TABLE plain ADD PRIMARY KEY (partition, log_offset, day);
            CREATE INDEX ON plain (partition, key, log_offset);
            CREATE INDEX ON plain (partition, correlationid);
            """, database: fixture.name)
    }

    /// The statement of pgbench that inserts rows in the shape of events. The variable `p` has the partition.
    static func insert(rows: Int) -> String {
        // pgbench reads a colon and a letter as a variable, even in quotes.
        """
        INSERT INTO plain (partition, log_offset, day, id, source, type, version, key, time, correlationid, data)
        SELECT :p, nextval('plain_offset'), current_date, gen_random_uuid(), 'counter', 'counter.number.added', 1,
            format('device%sd%s', chr(58), n), 1800000000000, gen_random_uuid(),
            '{"amount": 1,"mark":"019a0000-0000-7000-8000-000000000000"}' FROM generate_series(1, \(rows)) AS n;
        """
    }

    /// - Returns: the number of inserted rows per second, in the shape of events.
    static func pgbench<M>(_ fixture: MachineFixture<M>, seconds: Int) async throws -> Double {
        try await makePlainTable(fixture)
        let script = FileManager.default.temporaryDirectory.appendingPathComponent("dormouse-appends.sql")
        try """
        \\set p random(0, \(MachineFixture<M>.partitions - 1))
        \(insert(rows: batch))
        """.write(to: script, atomically: true, encoding: .utf8)
        defer { try? FileManager.default.removeItem(at: script) }
        // A number of transactions instead of a duration: this thread blocks signals and pgbench inherits that, so its
        // alarm would not arrive.
        let output = try tool(
            "pgbench",
            ["-n", "-c8", "-j2", "-t\(20 * seconds)", "-M", "prepared", "-f", script.path, fixture.url])
        guard let rate = output.number(after: "tps") else { throw ToolFailed(description: output) }
        return rate * Double(batch)
    }
}
