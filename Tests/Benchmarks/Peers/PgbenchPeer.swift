import Foundation
import Postgres
import TestSupport

/// The least that any log in PostgreSQL does: an insert of a batch and NOTIFY in one transaction, by pgbench.
struct PgbenchPeer {
    let pace: Pace
    private let clients = 4

    /// - Returns: the milliseconds from the time at which a transaction was due to its commit.
    func measure() async throws -> [Double] {
        let fixture = try await CounterBench()
        try await LogAppends.makePlainTable(fixture)
        let folder = URL.temporaryDirectory.appending(path: "dormouse-pgbench-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
        defer { try? FileManager.default.removeItem(at: folder) }
        let script = folder.appending(path: "insert.sql")
        try """
        \\set p random(0, \(CounterBench.partitions - 1))
        \\startpipeline
        BEGIN;
        \(LogAppends.insert(rows: pace.batch))
        SELECT pg_notify('dormouse', 'plain');
        COMMIT;
        \\endpipeline
        """.write(to: script, atomically: true, encoding: .utf8)
        _ = try tool(
            "pgbench",
            [
                "-n", "-c\(clients)", "-j2", "-t\(pace.rounds / clients)", "-R\(pace.rounds / pace.seconds)", "-M",
                "prepared", "-l", "--log-prefix=\(folder.path)/log", "-f", script.path, fixture.url,
            ])
        var values: [Double] = []
        for name in try FileManager.default.contentsOfDirectory(atPath: folder.path) where name.hasPrefix("log") {
            let text = try String(contentsOf: folder.appending(path: name), encoding: .utf8)
            // The third column has the microseconds since the transaction was due.
            values += text.split(separator: "\n").compactMap { line in
                line.split(separator: " ").dropFirst(2).first.flatMap { Double($0) }.map { $0 / 1000 }
            }
        }
        await fixture.pool.close()
        try await fixture.cluster.destroy()
        return values
    }
}
