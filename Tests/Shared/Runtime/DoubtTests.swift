import Contracts
import EventLog
import Foundation
import Machines
import Postgres
import TestSupport
import Testing
import Timeline

@testable import Runtime

/// Commands to a partition if one of its deadlines may have ended its owner.
@Suite(.timeLimit(.minutes(2))) struct DoubtTests {
    @Test(arguments: ["owner = gen_random_uuid(), lease_expires = '-infinity'", "attempts = 1"])
    func `a command does not fire a deadline that may have ended an owner`(_ doubt: String) async throws {
        let bench = try await RuntimeBench()
        let worker = bench.worker()
        let device = try #require(bench.oneDeviceInEach.first)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await worker.run() }
            _ = try await worker.submit(Submission(.ring(after: .zero), to: device))
            try await bench.cluster.sql("UPDATE bus.cursors SET \(doubt)", database: bench.database)
            await #expect(throws: RuntimeError.overloaded) { try await worker.submit(.add(1, to: device)) }
            #expect(try await bench.log().map(\.type) == [RingSet.type])
            try await bench.cluster.sql(
                "UPDATE bus.cursors SET owner = NULL, attempts = 0", database: bench.database)
            _ = try await worker.submit(.add(1, to: device))
            #expect(try await bench.log().map(\.type) == [RingSet.type, Rang.type, Added.type])
            await worker.stop()
            try await group.waitForAll()
        }
        await bench.pool.close()
    }
}
