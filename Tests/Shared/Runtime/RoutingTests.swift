import EventLog
import Machines
import TestSupport
import Testing

@testable import Postgres
@testable import Runtime

/// The plans of the hot statements on a coordinator of Citus with two workers.
@Suite(
    .tags(.database), .timeLimit(.minutes(5)),
    .enabled("skipped: Citus is not installed") { try await PrivateCluster.hasCitus() })
struct RoutingTests {
    @Test func `Citus sends each hot statement to one shard`() async throws {
        let fixture = try await RuntimeFixture(try await PrivateCluster.sharedCitus())
        for partition in 0..<fixture.partitions {
            for (name, query) in HotStatements(partition: partition).all {
                let plan = try await plan(of: query, fixture).joined(separator: "\n")
                // A subquery that locks rows is a plan of its own.
                let counts = Set(plan.matches(of: /Task Count: (\d+)/).map(\.1))
                #expect(counts == ["1"], "\(name) of partition \(partition):\n\(plan)")
                #expect(!plan.contains("pull to coordinator"), "\(name):\n\(plan)")
            }
        }
        await fixture.pool.close()
    }

    @Test func `partitions of one shard share a statement`() async throws {
        let fixture = try await RuntimeFixture(try await PrivateCluster.sharedCitus())
        let placement = fixture.placement
        let shards = "SELECT count(*) FROM citus_shards WHERE table_name = 'bus.partitions'::regclass"
        #expect(try await fixture.cluster.sql(shards, database: fixture.database) == "4", "two on each worker")
        #expect(placement.isDistributed && placement.shards.count == fixture.partitions)
        #expect(placement.groups(of: 0..<fixture.partitions).joined().sorted() == Array(0..<fixture.partitions))
        for group in placement.groups(of: 0..<fixture.partitions) {
            let query = Query(Statements.lockFreeCursors, [.int4s(group.map { Int32($0) }), .text(Counter.name)])
            let plan = try await plan(of: query, fixture).joined(separator: "\n")
            #expect(plan.contains("Task Count: 1"), "\(group):\n\(plan)")
        }
        await fixture.pool.close()
    }

    @Test func `a session of a service reads shards one after another, and polls less often`() async throws {
        let fixture = try await RuntimeFixture(try await PrivateCluster.sharedCitus())
        let placement = fixture.placement
        #expect(placement.pollInterval == .seconds(1) && LogPlacement.oneDatabase.pollInterval == .milliseconds(500))
        #expect(LogPlacement.oneDatabase.sessionSettings.isEmpty)
        let options = try ConnectionOptions(url: fixture.url, settings: placement.sessionSettings)
        let session = try await Connection.open(options, logger: fixture.logger)
        let size = try await session.execute(Statement("SHOW citus.max_adaptive_executor_pool_size"))
        #expect(try size[0].decode(String.self) == "1")
        await session.close()
        await fixture.pool.close()
    }

    private func plan(of query: Query, _ fixture: RuntimeFixture) async throws -> [String] {
        let explain = Statement("EXPLAIN (COSTS OFF) \(query.statement.sql)")
        return try await fixture.pool.execute(Query(explain, query.parameters)).decode(String.self)
    }
}
