import TestSupport
import Testing

/// Faults of a suite on Citus under load: a coordinator with two workers. No acknowledged command is lost or executed
/// twice, and all services continue.
@Suite(
    "Faults of Citus under load", .tags(.database, .processes), .serialized, .timeLimit(.minutes(10)),
    .enabled("skipped: Citus is not installed") { try await PrivateCluster.hasCitus() })
struct CitusFaultTests {
    @Test func `killed services lose nothing and the others continue`() async throws {
        try await underLoad(.start(fsync: true, workers: 2)) { suite, witnesses in
            for victim in witnesses {
                try await suite.kill(victim.service)
                for witness in witnesses where witness.service != victim.service { try await witness.acknowledges(2) }
                try await suite.launch(victim.service)
                try await victim.acknowledges(2)
            }
        }
    }

    @Test func `killed workers and a killed coordinator lose nothing`() async throws {
        try await underLoad(.start(fsync: true, workers: 2)) { suite, witnesses in
            for node in suite.cluster.workers + [suite.cluster] {
                try await node.kill()
                if node === suite.cluster { for witness in witnesses { try await witness.failed(1) } }
                try await node.start()
                for service in SuiteService.allCases { try await suite.waitUntil(service, isWell: true) }
                for witness in witnesses { try await witness.acknowledges(3) }
            }
        }
    }

    @Test func `the standby of a worker takes its place`() async throws {
        let suite = try await RunningSuite.start(fsync: true, workers: 2)
        let worker = suite.cluster.workers[0]
        let standby = try await worker.makeCitusStandby()
        try await underLoad(suite) { suite, witnesses in
            try await worker.kill()
            try await standby.promote()
            _ = try await suite.sql(
                """
                SELECT citus_update_node(nodeid, '\(standby.socketDirectory)', \(standby.port), force => true)
                FROM pg_dist_node WHERE nodeport = \(worker.port)
                """)
            for service in SuiteService.allCases { try await suite.waitUntil(service, isWell: true) }
            for witness in witnesses { try await witness.acknowledges(5) }
        }
        try await standby.destroy()
    }

    @Test func `shards move to another worker and back`() async throws {
        try await underLoad(.start(fsync: true, workers: 2)) { suite, witnesses in
            let drained = suite.cluster.workers[0]
            let node = "'\(drained.socketDirectory)', \(drained.port)"
            let shards = "SELECT count(*) FROM citus_shards WHERE nodeport = \(drained.port)"
            _ = try await suite.sql("SELECT citus_drain_node(\(node))")
            #expect(try await suite.sql(shards) == "0")
            for witness in witnesses { try await witness.acknowledges(3) }
            _ = try await suite.sql("SELECT citus_set_node_property(\(node), 'shouldhaveshards', true)")
            _ = try await suite.sql("SELECT citus_rebalance_start()")
            _ = try await suite.sql("SELECT citus_rebalance_wait()")
            #expect(try await suite.sql("SELECT state FROM citus_rebalance_status()") == "finished")
            #expect(try await suite.sql(shards) != "0")
            for witness in witnesses { try await witness.acknowledges(3) }
        }
    }
}

extension RunningSuite {
    /// Runs SQL in the database of the suite as its superuser.
    fileprivate func sql(_ statement: String) async throws -> String {
        try await cluster.sql(statement, database: database)
    }
}
