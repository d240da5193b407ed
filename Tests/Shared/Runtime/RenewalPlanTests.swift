import EventLog
import Foundation
import Machines
import TestSupport
import Testing

@testable import Postgres
@testable import Runtime

/// The plan of the renewal of leases, as a service runs it: with the rights of its role, and prepared.
@Suite(.tags(.database), .timeLimit(.minutes(5))) struct RenewalPlanTests {
    @Test func `a renewal of all leases locks each row once`() async throws {
        let fixture = try await RuntimeFixture(partitions: 64)
        let owner = UUID()
        _ = try await fixture.pool.execute(
            Statement("UPDATE bus.cursors SET owner = $1 WHERE consumer = $2"), .uuid(owner), .text(Counter.name))
        let options = try ConnectionOptions(
            url: fixture.url(as: "dormouse_\(Counter.name)"), settings: ["plan_cache_mode": "force_generic_plan"])
        let session = try await Connection.open(options, logger: fixture.logger)
        let types = "int4[], text, uuid, float8, bool"
        _ = try await session.execute(Statement("PREPARE renewal (\(types)) AS \(Statements.renewFree.sql)"))
        let list = (0..<fixture.partitions).map(String.init).joined(separator: ",")
        let explain = Statement(
            """
            EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF)
            EXECUTE renewal ('{\(list)}', '\(Counter.name)', '\(owner)', 3, true)
            """)
        let plan = try await session.execute(explain).decode(String.self).joined(separator: "\n")
        let locks = plan.matches(of: /LockRows \(actual rows=(\d+) loops=(\d+)\)/).map { "\($0.1) rows, \($0.2) loops" }
        #expect(locks == ["64 rows, 1 loops"], "\(plan)")
        await session.close()
        await fixture.pool.close()
    }
}
