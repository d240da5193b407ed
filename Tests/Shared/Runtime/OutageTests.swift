import Contracts
import EventLog
import Foundation
import Postgres
import Runtime
import TestSupport
import Testing

/// The database stops and returns.
@Suite(.serialized, .timeLimit(.minutes(5))) struct RuntimeOutageTests {
    @Test func `services wait for a stopped or killed database and lose nothing`() async throws {
        let cluster = try await PrivateCluster.make(fsync: true)
        let bench = try await RuntimeBench(cluster)
        let replica = try await Counterd(bench, "load", "5", "50")
        let pings = try await bench.pinging {
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
        try await bench.counted(pings)
        try await replica.stop()
        try await bench.audit(acknowledged: replica.acknowledged, pings: pings)
        await bench.pool.close()
        try await cluster.destroy()
    }

    /// Before the server got the COMMIT, and after it committed but before its answer arrived.
    @Test(arguments: [ProxyCut.Moment.beforeForwarding, .forwarding])
    func `every caller gets the true result when the connection breaks during the commit`(_ moment: ProxyCut.Moment)
        async throws
    {
        let bench = try await RuntimeBench()
        let proxy = try await TCPProxy.start(port: bench.cluster.port)
        let url = bench.cluster.tcpURL(database: bench.database, port: proxy.port)
        let answered = Tally()
        try await bench.running(url: url) { runtime in
            // The leases are acquired, and the first look at the log is over.
            try await bench.counted(try await bench.pingEachPartition())
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
        let added = try await bench.log().filter { $0.type == Added.type }
        #expect(added.count == answered.count)
        try await bench.audit()
        try await proxy.stop()
        await bench.pool.close()
    }

    /// The lock of a replica that is stopped in the middle of a batch.
    @Test func `a blocked partition does not block the others`() async throws {
        let bench = try await RuntimeBench()
        try await bench.running(poolSize: 1) { runtime in
            let devices = bench.oneDeviceInEach
            try await bench.counted(try await bench.pingEachPartition())
            async let stuck = bench.pool.withConnection { holder in
                _ = try await holder.run([
                    Call(Statement("BEGIN")), Call(Statement("SET LOCAL idle_in_transaction_session_timeout = 0")),
                    Call(Statement("SELECT FROM bus.cursors WHERE partition = 0 FOR UPDATE")),
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
                    try await bench.pool.run(Call(alive))[0].int(0) == 3
                }
                _ = try await holder.run(Call(Statement("ROLLBACK")))
                return await waiting
            }
            _ = try await stuck
        }
        try await bench.audit()
        await bench.pool.close()
    }
}
