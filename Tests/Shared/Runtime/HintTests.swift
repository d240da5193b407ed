import Contracts
import EventLog
import Foundation
import Machines
import Postgres
import Runtime
import ServiceLifecycle
import Synchronization
import TestSupport
import Testing

/// Wake-ups are few, and correctness does not depend on them.
@Suite("Wake-ups", .tags(.database), .timeLimit(.minutes(5))) struct HintTests {
    @Test func `many wake-ups make few notifications, and the first one is sent at once`() async throws {
        let fixture = try await RuntimeFixture()
        let sender = WakeUpSender(pool: fixture.pool, sender: UUID(), logger: fixture.logger)
        let ears = try Ears(fixture)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await sender.run() }
            group.addTask { try await ears.receiver.run() }
            try await ears.isListening.value()
            // The first wake-up is sent without a second one.
            sender.wakeUp(3, types: [])
            try await ears.count.reaches(1)
            let begin = ContinuousClock.now
            var wakeUps = 0
            while ears.count.count < 21 {
                try Task.checkCancellation()
                // Many at a time, because on a busy machine the sender may run more often than this task.
                for partition in 0..<300 { sender.wakeUp(partition % 3, types: []) }
                wakeUps += 300
                await Task.yield()
            }
            // At most one every 10 ms, plus one that may have been under way.
            let most = Int(begin.duration(to: .now) / .milliseconds(10)) + 2
            #expect(ears.count.count - 1 <= most)
            #expect(wakeUps > 10 * ears.count.count)
            #expect(ears.partitions.all == [0, 1, 2, 3])
            group.cancelAll()
        }
        await fixture.pool.close()
    }

    @Test func `a wake-up names the types of the new events`() async throws { try await hear(in: RuntimeFixture()) }

    @Test(.enabled("skipped: Citus is not installed") { try await PrivateCluster.hasCitus() })
    func `wake-ups go through the coordinator of Citus`() async throws {
        try await hear(in: RuntimeFixture(PrivateCluster.sharedCitus()))
    }

    private func hear(in fixture: RuntimeFixture) async throws {
        let sender = WakeUpSender(pool: fixture.pool, sender: UUID(), logger: fixture.logger)
        let other = WakeUpSender(pool: fixture.pool, sender: UUID(), logger: fixture.logger)
        let heard = AsyncStream<WakeUpSender.WakeUp>.makeStream()
        let receiver = WakeUpReceiver(try ConnectionOptions(url: fixture.url), sender: other, logger: fixture.logger)
        let isListening = Signal<Void>()
        receiver.follow { updates in
            switch updates {
            case .everything: isListening.fire()
            case .wakeUp(let wakeUp): heard.continuation.yield(wakeUp)
            case .clock, .settling: break
            }
        }
        let many = (0..<300).map { "service.something.with.a.long.name.\($0)" }
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await sender.run() }
            group.addTask { try await receiver.run() }
            try await isListening.value()
            var wakeUps = heard.stream.makeAsyncIterator()
            sender.wakeUp(3, types: ["b.two", "a.one", "b.two"])
            let named = try #require(await wakeUps.next())
            #expect(named.partitions == [3])
            #expect(named.types == ["a.one", "b.two"])
            #expect(!named.isOwn)
            // A wake-up without types means any type: there are none to name, or they do not fit.
            sender.wakeUp(4, types: [])
            #expect(try #require(await wakeUps.next()).types == nil)
            sender.wakeUp(5, types: many)
            #expect(try #require(await wakeUps.next()).types == nil)
            group.cancelAll()
        }
        #expect(sender.read("\(sender.sender.uuidString):1,2:a.one")?.isOwn == true)
        for other in ["clock", "", "a:b:c:d"] { #expect(sender.read(other) == nil) }
        await fixture.pool.close()
    }

    /// The engine reads them rarely but soon enough, because an advance of the clock waits for them.
    @Test func `events that a machine does not follow are skipped`() async throws {
        let fixture = try await RuntimeFixture()
        try await fixture.running { runtime in
            let heard = try await fixture.append(to: "a")
            try await fixture.waitForLog { $0.contains { $0.causation == heard } }
            for _ in 0..<20 { try await fixture.append(type: "other.thing.unknown", to: "a") }
            let partition = AggregateKey.device("a").partition(of: fixture.partitions)
            let head = try await fixture.log().filter { $0.partition == partition }.map(\.offset).max() ?? 0
            #expect(try await runtime.hasReached(partition: partition, offset: head, within: .seconds(60)))
        }
        try await fixture.audit()
        await fixture.pool.close()
    }

    @Test func `an event with a lost wake-up is processed`() async throws {
        let fixture = try await RuntimeFixture()
        try await fixture.running { runtime in
            let heard = try await fixture.append(to: "a")
            try await fixture.waitForLog { $0.contains { $0.causation == heard } }
            let unheard = try await fixture.append(to: "a", isWokenUp: false)
            try await fixture.waitForLog { $0.contains { $0.causation == unheard } }
        }
        try await fixture.audit()
        await fixture.pool.close()
    }

    @Test func `a stream finds an event with a lost wake-up`() async throws {
        let fixture = try await RuntimeFixture()
        // No runtime, because its own events would come with wake-ups.
        let ears = try Ears(fixture)
        let tail = LogTail(
            pool: fixture.pool, partitions: fixture.partitions, updates: ears.receiver, logger: fixture.logger)
        let group = ServiceGroup(services: [ears.receiver, tail], logger: fixture.logger)
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            tasks.addTask { try await group.run() }
            try await ears.isListening.value()
            var stream = tail.events(of: .device("a"), after: 0).makeAsyncIterator()
            for isWokenUp in [true, true, false, false] {
                let id = try await fixture.append(to: "a", isWokenUp: isWokenUp)
                #expect(try await stream.next()?.id == id)
            }
            await group.triggerGracefulShutdown()
            try await tasks.waitForAll()
        }
        await fixture.pool.close()
    }
}

/// Another process that listens.
private struct Ears {
    let receiver: WakeUpReceiver
    let isListening = Signal<Void>()
    let count = Tally()
    let partitions = Partitions()

    final class Partitions: Sendable {
        private let state = Mutex<Set<Int>>([])
        var all: Set<Int> { state.withLock { $0 } }
        func add(_ more: [Int]) { state.withLock { $0.formUnion(more) } }
    }

    init(_ fixture: RuntimeFixture) throws {
        let nobody = WakeUpSender(pool: fixture.pool, sender: UUID(), logger: fixture.logger)
        receiver = WakeUpReceiver(try ConnectionOptions(url: fixture.url), sender: nobody, logger: fixture.logger)
        receiver.follow { [isListening, count, partitions] updates in
            switch updates {
            case .everything: isListening.fire()
            case .wakeUp(let wakeUp):
                partitions.add(wakeUp.partitions)
                count.add()
            case .clock, .settling: break
            }
        }
    }
}
