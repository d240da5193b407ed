import Contracts
import Foundation
import Machines
import Postgres
import Runtime
import TestSupport
import Testing

/// A refusal is final only after the service has read every event about the device that was in the log before the
/// command.
@Suite(.tags(.database), .timeLimit(.minutes(5))) struct BehindTests {
    /// A busy machine may need longer than the default.
    private let patient = StallLimits(settling: .seconds(60))

    @Test func `a command is decided again after an event that its replica had not read`() async throws {
        let fixture = try await RuntimeFixture()
        try await fixture.running(limits: patient) { runtime in
            try await eventuallyTrue { await runtime.ownedPartitions == fixture.partitions }
            for number in 0..<100 {
                // No wake-up: without the refusal, the replica would read the log only within 500 ms.
                try await fixture.append(to: "d\(number)", isWokenUp: false)
                _ = try await runtime.submit(Submission(.addIfPinged(1), to: "d\(number)"))
            }
        }
        #expect(try await fixture.log().count { $0.type == Added.type } == 100)
        await fixture.pool.close()
    }

    @Test func `replicas without the lease wait for the owner's cursor`() async throws {
        let fixture = try await RuntimeFixture()
        try await fixture.running(limits: patient) { first in
            try await fixture.running(limits: patient) { second in
                try await eventuallyTrue { try await fixture.owners() == [2, 2] }
                for number in 0..<100 {
                    try await fixture.append(to: "d\(number)")
                    let command = Submission<Counter>(.addIfPinged(1), to: "d\(number)")
                    _ = try await (number % 2 == 0 ? first : second).submit(command)
                }
            }
        }
        #expect(try await fixture.log().count { $0.type == Added.type } == 100)
        await fixture.pool.close()
    }

    @Test func `the check of a command is repeated too`() async throws {
        struct Hidden: Error {}
        let fixture = try await RuntimeFixture()
        try await fixture.running { runtime in
            try await eventuallyTrue { await runtime.ownedPartitions == fixture.partitions }
            try await fixture.append(to: "a", isWokenUp: false)
            var command = Submission<Counter>(.add(1), to: "a")
            command.check = { aggregate in if aggregate.state.pings == 0 { throw Hidden() } }
            _ = try await runtime.submit(command)
        }
        await fixture.pool.close()
    }

    @Test func `a halted partition answers behind only for devices with unread events`() async throws {
        let fixture = try await RuntimeFixture()
        try await fixture.running { runtime in
            try await eventuallyTrue { await runtime.ownedPartitions == fixture.partitions }
            // This program does not know that version: the partition halts before the event.
            try await fixture.append(version: 9, to: "a")
            let home = AggregateKey.device("a").partition(of: fixture.partitions)
            try await eventuallyTrue {
                if case .halted = await runtime.partitionStates[home] { true } else { false }
            }
            // An accepted command does not wait.
            _ = try await runtime.submit(Submission(.add(1), to: "a"))
            await #expect(throws: RuntimeError.behind) {
                try await runtime.submit(Submission(.addIfPinged(1), to: "a"))
            }
            // The log has no event about this device. So its refusal is final, although the cursor does not move.
            let other = try #require(
                (0..<1000).lazy.map { "o\($0)" }.first {
                    AggregateKey.device($0).partition(of: fixture.partitions) == home
                })
            await #expect(throws: Counter.Refusal.self) {
                try await runtime.submit(Submission(.addIfPinged(1), to: other))
            }
        }
        await fixture.pool.close()
    }

    @Test func `a reader that catches up reads the state after the latest event`() async throws {
        let fixture = try await RuntimeFixture()
        try await fixture.running(limits: patient) { runtime in
            try await runtime.catchUp(with: .device("a"))
            for number in 1...20 {
                try await fixture.append(to: "a", isWokenUp: false)
                try await runtime.catchUp(with: .device("a"))
                #expect(try await runtime.state(.device("a"))?.aggregate.state.pings == number)
            }
        }
        await fixture.pool.close()
    }
}
