import Contracts
import EventLog
import Foundation
import Logging
import Postgres
import TestSupport
import Testing

@testable import Runtime

/// A process whose own work stalls ends.
@Suite(.tags(.database, .processes), .timeLimit(.minutes(5))) struct WatchdogTests {
    private let progress = (0..<2).map { PartitionProgress(partition: $0) }

    private func watchdog(
        decision: Duration = .milliseconds(300), call: Duration = .milliseconds(300), _ queries: [PipelineDeadline] = []
    ) -> Watchdog {
        Watchdog(
            StallLimits(decision: decision, overdueCall: call), progress: progress, queries: { queries },
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
    }

    @Test func `a decision that too many looks find in progress is a stall`() {
        let watchdog = watchdog()
        var looks = Watchdog.Lookup()
        progress[1].deciding {
            // Three pauses of 100 ms lie between four looks.
            for _ in 1...4 { #expect(watchdog.look(&looks) == nil) }
            #expect(watchdog.look(&looks) == .decision(partition: 1))
        }
        #expect(watchdog.look(&looks) == nil)
    }

    @Test func `each decision has its own time limit`() {
        let watchdog = watchdog()
        var looks = Watchdog.Lookup()
        for _ in 0..<10 {
            progress[0].deciding { for _ in 1...4 { #expect(watchdog.look(&looks) == nil) } }
        }
    }

    @Test func `a call that does not return after its deadline is a stall`() async throws {
        let deadline = PipelineDeadline()
        let watchdog = watchdog(call: .milliseconds(300), [PipelineDeadline(), deadline])
        var looks = Watchdog.Lookup()
        deadline.begin(.seconds(60))
        for _ in 0..<10 { #expect(watchdog.look(&looks) == nil) }
        deadline.begin(.zero)
        try await eventually(describe: "the deadline has passed") { deadline.overdueCall != nil }
        for _ in 1...4 { #expect(watchdog.look(&looks) == nil) }
        #expect(watchdog.look(&looks) == .call)
        deadline.end()
        #expect(watchdog.look(&looks) == nil)
    }

    @Test func `the watchdog runs on its own thread`() async throws {
        let left = Signal<Void>()
        let watchdog = Watchdog(
            StallLimits(decision: .milliseconds(100)), progress: progress, queries: { [] },
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }, leave: { left.fire() })
        watchdog.start()
        let isOver = DispatchSemaphore(value: 0)
        Thread.detachNewThread { [progress] in progress[0].deciding { _ = isOver.wait(timeout: .now() + 60) } }
        try await withTimeout(seconds: 60) { try await left.value() }
        watchdog.stop()
        isOver.signal()
    }

    @Test func `an input whose decision does not end becomes a dead letter, as one that ends the process`() async throws
    {
        let fixture = try await RuntimeFixture()
        let before = try await fixture.append(to: "d1")
        let bad = try await fixture.append(ping: #"{"loop":true}"#, to: "d3")
        let after = try await fixture.append(to: "d5")
        var deaths = 0
        while try await fixture.letters() == 0 {
            let replica = try await CounterProcess(fixture, "serve", "impatient")
            let status = try await withThrowingTaskGroup(of: Optional<TestSupport.ExitStatus>.self) { group in
                group.addTask { Optional(try await replica.process.exit(within: 60)) }
                group.addTask {
                    try await eventuallyTrue { try await fixture.letters() > 0 }
                    return nil
                }
                defer { group.cancelAll() }
                return try await group.next() ?? nil
            }
            guard let status else {
                try await fixture.counted([before, after])
                try await replica.stop()
                break
            }
            #expect(status == .exited(Watchdog.exitStatus))
            #expect(replica.process.errors.lines.contains { $0.contains("decision exceeded its time limit") })
            deaths += 1
            try #require(deaths < 12)
            try await fixture.expireLeases()
        }
        // Like a trap: two deaths that may be accidents, then four trials.
        #expect(deaths == 6)
        let mended = try await CounterProcess(fixture, "serve", "mended")
        try await fixture.running(Brittle.self, Faults(isBroken: false)) { runtime in
            let replayed = try await runtime.replay(.device("d3"))
            #expect(replayed == 1)
        }
        try await fixture.counted([bad])
        try await mended.stop()
        await fixture.pool.close()
    }
}
