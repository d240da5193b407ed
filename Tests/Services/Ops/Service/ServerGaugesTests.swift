import Telemetry
import TestSupport
import Testing

@testable import OpsService

@Suite("Gauges of the PostgreSQL server", .tags(.database)) struct ServerGaugesTests {
    @Test func `the role of ops can read them all`() async throws {
        try await OpsFixture.run { fixture in
            let metrics = Metrics()
            await ServerGauges(pool: fixture.pool, metrics: metrics).note()
            let limit = value("postgres_connections_limit", of: metrics)
            let connections = value("postgres_connections", of: metrics)
            #expect(connections >= 1 && connections < limit)
            #expect(value("postgres_database_bytes", of: metrics) > 1_000_000)
            let age = value("postgres_transaction_age", of: metrics)
            #expect(age > 0 && age < 1_000_000_000)
        }
    }

    /// Returns the value of a gauge; -1 if it is missing.
    private func value(_ name: String, of metrics: Metrics) -> Double {
        let prefix = "dormouse_\(name) "
        let line = metrics.text.split(separator: "\n").first { $0.hasPrefix(prefix) }
        return line.flatMap { Double($0.dropFirst(prefix.count)) } ?? -1
    }
}
