import Contracts
import EventLog
import Foundation
import Postgres
import Runtime
import TestSupport
import Testing

/// The database stops and returns.
@Suite(.tags(.database, .processes), .serialized, .timeLimit(.minutes(5))) struct RuntimeOutageTests {
    @Test func `services wait for a stopped or killed database and lose nothing`() async throws {
        let cluster = try await PrivateCluster.make(fsync: true)
        let fixture = try await RuntimeFixture(cluster)
        let replica = try await CounterProcess(fixture, "load", "5", "50")
        let pings = try await fixture.pinging {
            try await replica.acknowledges(200)
            try await cluster.stop(.fast)
            try await cluster.start()
            try await replica.acknowledges(200)
            try await cluster.kill()
            try await cluster.start()
            try await replica.acknowledges(200)
            try await cluster.stop(.immediate)
            try await cluster.start()
            try await replica.acknowledges(200)
        }
        try await fixture.counted(pings)
        try await replica.stop()
        try await fixture.audit(acknowledged: replica.acknowledged, pings: pings)
        await fixture.pool.close()
        try await cluster.destroy()
    }

    /// Before the server got the COMMIT, and after it committed but before its answer arrived.
    @Test(arguments: [ProxyCut.Moment.beforeForwarding, .forwarding])
    func `every caller gets the true result when the connection breaks during the commit`(_ moment: ProxyCut.Moment)
        async throws
    {
        let fixture = try await RuntimeFixture()
        let proxy = try await TCPProxy.start(port: fixture.cluster.port)
        let url = fixture.cluster.tcpURL(database: fixture.database, port: proxy.port)
        let answered = Tally()
        try await fixture.running(url: url) { runtime in
            // The leases are acquired, and the first look at the log is over.
            try await fixture.counted(try await fixture.pingEachPartition())
            // The text passes each connection once, when the statement is prepared.
            try await proxy.cutAll()
            let cut = proxy.cut(whenClientSends: Array("COMMIT".utf8), after: moment, count: 5)
            while cut.count < 5 {
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for number in 0..<40 {
                        group.addTask {
                            await #expect(throws: Counter.Refusal.self) {
                                try await runtime.submit(Submission(.addThenRefuse, to: "d\(number)"))
                            }
                            _ = try await runtime.submit(.add(1, to: "d\(number)"))
                            answered.add()
                        }
                    }
                    try await group.waitForAll()
                }
                if cut.count < 5 { try await proxy.cutAll() }
            }
        }
        let added = try await fixture.log().filter { $0.type == Added.type }
        #expect(added.count == answered.count)
        try await fixture.audit()
        try await proxy.stop()
        await fixture.pool.close()
    }

    /// The lock of a replica that is stopped in the middle of a batch.
    @Test func `a blocked partition does not block the others`() async throws {
        let fixture = try await RuntimeFixture()
        try await fixture.running(poolSize: 1) { runtime in
            let devices = fixture.oneDeviceInEach
            try await fixture.counted(try await fixture.pingEachPartition())
            async let stuck = fixture.pool.withConnection { holder in
                _ = try await holder.execute([
                    Query(Statement("BEGIN")), Query(Statement("SET LOCAL idle_in_transaction_session_timeout = 0")),
                    Query(Statement("SELECT FROM bus.cursors WHERE partition = 0 FOR UPDATE")),
                ])
                // On a loaded machine this can exceed its patience and fail, but it blocks no other partition.
                async let waiting = try? runtime.submit(.add(1, to: devices[0]))
                // Longer than the term of a lease.
                let end = ContinuousClock.now + .seconds(4)
                while .now < end {
                    for device in devices.dropFirst() {
                        // If it were blocked it would never return: the lock is released only after this loop.
                        try await withTimeout(seconds: 30) { _ = try await runtime.submit(.add(1, to: device)) }
                    }
                }
                let alive = Statement(
                    "SELECT count(*) FROM bus.cursors WHERE partition > 0 AND lease_expires > clock_timestamp()")
                try await eventually(within: 60, describe: "the other leases are renewed") {
                    try await fixture.pool.execute(Query(alive))[0].decode(Int.self, at: 0) == 3
                }
                _ = try await holder.execute(Query(Statement("ROLLBACK")))
                return await waiting
            }
            _ = try await stuck
        }
        try await fixture.audit()
        await fixture.pool.close()
    }
}
