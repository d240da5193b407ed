import Foundation
import MachineTesting
import Postgres
import TestSupport
import Testing

@testable import Runtime

/// A rolling update and its rollback: replicas of two releases as real processes, replaced one by one under load.
@Suite(.tags(.database, .processes), .serialized, .timeLimit(.minutes(5))) struct RollingUpdateTests {
    @Test func `a rolling update and its rollback lose no command`() async throws { try await update(RuntimeFixture()) }

    @Test(.enabled("skipped: Citus is not installed") { try await PrivateCluster.hasCitus() })
    func `a rolling update and its rollback lose no command on Citus`() async throws {
        try await update(RuntimeFixture(PrivateCluster.sharedCitus()))
    }

    private func update(_ fixture: RuntimeFixture) async throws {
        var replicas: [CounterProcess] = []
        for _ in 0..<3 { replicas.append(try await CounterProcess(fixture, "load", "3", "40")) }
        var acknowledged: [String] = []
        var errors: Set<String> = []
        func replace(_ arguments: String...) async throws {
            for index in replicas.indices {
                let next = try await CounterProcess(fixture, arguments: ["load", "3", "40"] + arguments)
                try await next.acknowledges(30)
                let old = replicas[index]
                replicas[index] = next
                try await old.stop()
                acknowledged += old.acknowledged
                errors.formUnion(old.refusals)
                for replica in replicas { try await replica.acknowledges(20) }
            }
        }
        let pings = try await fixture.pingEachPartition()
        try await replace("next")
        // The newer replicas write the older form, so the older ones can read each state.
        #expect(errors.filter { $0.hasSuffix("newer than this program") }.isEmpty)
        try await fixture.reached(form: 2)
        for replica in replicas { try await replica.acknowledges(20) }
        let laterPings = try await fixture.pingEachPartition()
        try await replace()
        try await fixture.reached(form: 1)
        for replica in replicas { try await replica.acknowledges(20) }
        try await fixture.counted(pings + laterPings)
        for replica in replicas {
            try await replica.stop()
            acknowledged += replica.acknowledged
            errors.formUnion(replica.refusals)
        }
        #expect(Self.faults(among: errors).isEmpty)
        try await fixture.audit(acknowledged: acknowledged, pings: pings + laterPings)
        await fixture.pool.close()
    }

    @Test func `three releases side by side write the form of the oldest one`() async throws {
        let fixture = try await RuntimeFixture()
        var releases: [CounterProcess] = []
        func start(_ release: String...) async throws {
            releases.append(try await CounterProcess(fixture, arguments: ["load", "3", "40"] + release))
        }
        func acknowledge() async throws { for release in releases { try await release.acknowledges(20) } }
        var acknowledged: [String] = []
        var errors: Set<String> = []
        func stop() async throws {
            let oldest = releases.removeFirst()
            try await oldest.stop()
            acknowledged += oldest.acknowledged
            errors.formUnion(oldest.refusals)
        }
        try await start()
        try await start("next")
        try await start("third")
        try await acknowledge()
        try await fixture.reached(form: 1)
        let pings = try await fixture.pingEachPartition()
        try await stop()
        try await fixture.reached(form: 2)
        try await acknowledge()
        try await stop()
        try await fixture.reached(form: 3)
        try await acknowledge()
        // Both earlier releases return.
        try await start("next")
        try await fixture.reached(form: 2)
        try await start()
        try await fixture.reached(form: 1)
        try await acknowledge()
        try await fixture.counted(pings)
        while !releases.isEmpty { try await stop() }
        #expect(Self.faults(among: errors).isEmpty)
        try await fixture.audit(acknowledged: acknowledged, pings: pings)
        await fixture.pool.close()
    }

    /// Returns the errors that a service would not answer with 503 and Retry-After. A client of a process that ends gets no
    /// answer.
    private static func faults(among errors: Set<String>) -> Set<String> {
        let passing: [any Error] = [
            RuntimeError.stopping, RuntimeError.overloaded, RuntimeError.behind, CancellationError(),
        ]
        return errors.subtracting(passing.map { "\($0)" }).filter { !$0.hasSuffix("newer than this program") }
    }
}

extension CounterProcess {
    /// The errors that its clients got. Each client repeats its command.
    fileprivate var refusals: Set<String> {
        Set(process.output.lines.filter { $0.hasPrefix("error ") }.map { String($0.dropFirst(6)) })
    }
}

extension RuntimeFixture {
    /// Waits until all states have a form, and no newer one is possible.
    fileprivate func reached(form: Int) async throws {
        let others = Statement(
            """
            SELECT (SELECT count(*) FROM counter.states WHERE machine_version <> $1)
                + (SELECT count(*) FROM bus.cursors WHERE state_form <> $1 OR newest_state <> $1)
            """)
        try await eventuallyTrue {
            try await pool.execute(Query(others, [.int4(Int32(form))]))[0].decode(Int.self) == 0
        }
    }
}
