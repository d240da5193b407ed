import Contracts
import EventLog
import Foundation
import Glibc
import Postgres
import TestSupport
import Testing

@testable import Runtime

/// Replicas as real processes that are killed, stopped or ended by their inputs.
@Suite(.tags(.database, .processes), .serialized, .timeLimit(.minutes(5))) struct CrashTests {
    @Test func `a killed replica is replaced within five seconds, and no acknowledged command is lost`() async throws {
        let fixture = try await RuntimeFixture()
        let victim = try await CounterProcess(fixture, "load", "5", "50")
        let survivor = try await CounterProcess(fixture, "load", "5", "50")
        let pings = try await fixture.pinging {
            try await eventuallyTrue { try await fixture.owners() == [2, 2] }
            try await victim.acknowledges(100)
            victim.process.signal(SIGKILL)
            // Measured by the commands of the survivor, so that a paused machine does not fail the test. The first one
            // was under way before.
            var signsOfLife: Set<String> = []
            while try await fixture.owners() != [fixture.partitions] {
                signsOfLife.insert(try await fixture.lastSignOfLife())
                try await Task.sleep(for: .milliseconds(5))
            }
            let renewal = LeaseKeeper<Counter>.renewal
            #expect(.seconds(LeaseKeeper<Counter>.term) + renewal * 2 < .seconds(5))
            let rounds = Int((Duration.seconds(5) / renewal) as Double)
            #expect(signsOfLife.count <= 1 + rounds)
            try await survivor.acknowledges(100)
        }
        try await fixture.counted(pings)
        try await survivor.stop()
        try await fixture.audit(acknowledged: victim.acknowledged + survivor.acknowledged, pings: pings)
        await fixture.pool.close()
    }

    @Test func `a stopped replica that continues handles no event twice`() async throws {
        try await stopped(RuntimeFixture())
    }

    @Test(.enabled("skipped: Citus is not installed") { try await PrivateCluster.hasCitus() })
    func `a stopped replica that continues handles no event twice on Citus`() async throws {
        try await stopped(RuntimeFixture(PrivateCluster.sharedCitus()))
    }

    private func stopped(_ fixture: RuntimeFixture) async throws {
        let sleeper = try await CounterProcess(fixture, "load", "5", "50")
        let other = try await CounterProcess(fixture, "serve")
        let pings = try await fixture.pinging {
            try await eventuallyTrue { try await fixture.owners() == [2, 2] }
            try await sleeper.acknowledges(50)
            sleeper.process.signal(SIGSTOP)
            try await eventuallyTrue { try await fixture.owners() == [fixture.partitions] }
            try await fixture.counted(try await fixture.pingEachPartition())
            sleeper.process.signal(SIGCONT)
            try await eventuallyTrue { try await fixture.owners() == [2, 2] }
            try await sleeper.acknowledges(50)
            try await fixture.counted(try await fixture.pingEachPartition())
        }
        try await fixture.counted(pings)
        try await sleeper.stop()
        try await other.stop()
        try await fixture.audit(acknowledged: sleeper.acknowledged, pings: pings)
        await fixture.pool.close()
    }

    @Test func `an event that ends the process becomes a dead letter after four tries`() async throws {
        let fixture = try await RuntimeFixture()
        var before: [UUID] = []
        for number in 0..<20 { before.append(try await fixture.append(to: "d\(number)")) }
        let bad = try await fixture.append(ping: #"{"trap":true}"#, to: "d3")
        var after: [UUID] = []
        for number in 4..<30 { after.append(try await fixture.append(to: "d\(number)")) }
        var deaths = 0
        while try await fixture.letters() == 0 {
            let replica = try await CounterProcess(fixture, "serve", "brittle")
            // The event ends it, or it makes the event a dead letter.
            let ended = try await withThrowingTaskGroup(of: Bool.self) { group in
                group.addTask {
                    try await replica.process.exit(within: 60)
                    return true
                }
                group.addTask {
                    try await eventuallyTrue { try await fixture.letters() > 0 }
                    return false
                }
                defer { group.cancelAll() }
                return try await group.next() ?? false
            }
            guard ended else {
                try await fixture.counted(before + after)
                try await replica.stop()
                break
            }
            deaths += 1
            try #require(deaths < 12)
            try await fixture.expireLeases()
        }
        // Two deaths that may be accidents, then four trials.
        #expect(deaths == 6)
        let mended = try await CounterProcess(fixture, "serve", "mended")
        let observer = try fixture.observer()
        let letters = try await observer.deadLetters()
        #expect(letters.map(\.key) == [.device("d3")])
        try await observerReplays(fixture, letters)
        try await fixture.counted([bad])
        try await mended.stop()
        await fixture.pool.close()
    }

    @Test func `the same inputs give the same log in every process`() async throws {
        var logs: [[Event]] = []
        for _ in 0..<2 {
            let fixture = try await RuntimeFixture()
            let replica = try await CounterProcess(fixture, "script", "42", "300")
            #expect(try await replica.process.exit(within: 90) == .exited(0))
            #expect(replica.process.output.lines.contains("settled"), "\(replica.process.errors.tail())")
            logs.append(try await fixture.log())
            try await fixture.audit()
            await fixture.pool.close()
        }
        #expect(logs[0].count > 200)
        #expect(logs[0].contains { $0.type == Rang.type })
        #expect(logs[0] == logs[1])
    }

    /// Any replica accepts the operator's order.
    private func observerReplays(_ fixture: RuntimeFixture, _ letters: [DeadLetter]) async throws {
        try await fixture.running(Brittle.self, Faults(isBroken: false)) { runtime in
            let replayed = try await runtime.replay(.device("d3"))
            #expect(replayed == letters.count)
            #expect(try await runtime.foldCheck(.device("d3")))
        }
    }
}

extension RuntimeFixture {
    /// Returns a value that changes when a member joins or renews.
    func lastSignOfLife() async throws -> String {
        try await pool.execute(Query(Statement("SELECT max(expires)::text FROM bus.members"), rowsExpected: 1))[0]
            .decode(String.self)
    }

    /// Appends pings while `body` runs.
    ///
    /// - Returns: the ids of the pings that were certainly appended.
    func pinging(_ body: @Sendable @escaping () async throws -> Void) async throws -> [UUID] {
        let isOver = Signal<Void>()
        async let appended: [UUID] = {
            var ids: [UUID] = []
            while !isOver.hasFired {
                // The test may cause an outage.
                if let id = try? await append(to: "d\(ids.count % 50)") { ids.append(id) }
                await Task.yield()
            }
            return ids
        }()
        do { try await withTimeout(seconds: 180) { try await body() } } catch {
            isOver.fire()
            _ = await appended
            throw error
        }
        isOver.fire()
        return await appended
    }

    func pingEachPartition() async throws -> [UUID] {
        var ids: [UUID] = []
        for device in oneDeviceInEach { ids.append(try await append(to: device)) }
        return ids
    }

    func letters() async throws -> Int {
        try await pool.execute(Query(Statement("SELECT count(*) FROM bus.dead_letters")))[0].decode(Int.self)
    }

    /// Expires the leases of dead owners at once.
    func expireLeases() async throws {
        _ = try await pool.execute([
            Query(Statement("UPDATE bus.cursors SET lease_expires = '-infinity'")),
            Query(Statement("DELETE FROM bus.members")),
        ])
    }
}
