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
@Suite(.tags(.database), .timeLimit(.minutes(2))) struct DoubtTests {
    @Test(arguments: ["owner = gen_random_uuid(), lease_expires = '-infinity'", "attempts = 1"])
    func `a command does not fire a deadline that may have ended an owner`(_ doubt: String) async throws {
        let fixture = try await RuntimeFixture()
        let engine = fixture.engine()
        let device = try #require(fixture.oneDeviceInEach.first)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await engine.run() }
            _ = try await engine.submit(Submission(.ring(after: .zero), to: device))
            try await fixture.cluster.sql("UPDATE bus.cursors SET \(doubt)", database: fixture.database)
            await #expect(throws: RuntimeError.overloaded) { try await engine.submit(.add(1, to: device)) }
            #expect(try await fixture.log().map(\.type) == [RingSet.type])
            try await fixture.cluster.sql(
                "UPDATE bus.cursors SET owner = NULL, attempts = 0", database: fixture.database)
            _ = try await engine.submit(.add(1, to: device))
            #expect(try await fixture.log().map(\.type) == [RingSet.type, Rang.type, Added.type])
            await engine.stop()
            try await group.waitForAll()
        }
        await fixture.pool.close()
    }
}
