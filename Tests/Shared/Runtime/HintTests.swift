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
@Suite("Wake-ups", .timeLimit(.minutes(5))) struct HintTests {
    @Test func `many wake-ups make few notifications, and the first one is sent at once`() async throws {
        let bench = try await RuntimeBench()
        let sender = HintSender(pool: bench.pool, sender: UUID(), logger: bench.logger)
        let ears = try Ears(bench)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await sender.run() }
            group.addTask { try await ears.receiver.run() }
            try await ears.isListening.value()
            // The first wake-up is sent without a second one.
            sender.hint(3, types: [])
            try await ears.count.reaches(1)
            let begin = ContinuousClock.now
            var hints = 0
            while ears.count.count < 21 {
                try Task.checkCancellation()
                // Many at a time, because on a busy machine the sender may run more often than this task.
                for partition in 0..<300 { sender.hint(partition % 3, types: []) }
                hints += 300
                await Task.yield()
            }
            // At most one every 10 ms, plus one that may have been under way.
            let most = Int(begin.duration(to: .now) / .milliseconds(10)) + 2
            #expect(ears.count.count - 1 <= most)
            #expect(hints > 10 * ears.count.count)
            #expect(ears.partitions.all == [0, 1, 2, 3])
            group.cancelAll()
        }
        await bench.pool.close()
    }

    @Test func `a wake-up names the types of the new events`() async throws {
        let bench = try await RuntimeBench()
        let sender = HintSender(pool: bench.pool, sender: UUID(), logger: bench.logger)
        let other = HintSender(pool: bench.pool, sender: UUID(), logger: bench.logger)
        let heard = AsyncStream<HintSender.Hint>.makeStream()
        let receiver = HintReceiver(try ConnectionOptions(url: bench.url), sender: other, logger: bench.logger)
        let isListening = Signal<Void>()
        receiver.follow { news in
            switch news {
            case .everything: isListening.fire()
            case .hint(let hint): heard.continuation.yield(hint)
            case .clock: break
            }
        }
        let many = (0..<300).map { "service.something.with.a.long.name.\($0)" }
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await sender.run() }
            group.addTask { try await receiver.run() }
            try await isListening.value()
            var hints = heard.stream.makeAsyncIterator()
            sender.hint(3, types: ["b.two", "a.one", "b.two"])
            let named = try #require(await hints.next())
            #expect(named.partitions == [3])
            #expect(named.types == ["a.one", "b.two"])
            #expect(!named.isOwn)
            // A wake-up without types means any type: there are none to name, or they do not fit.
            sender.hint(4, types: [])
            #expect(try #require(await hints.next()).types == nil)
            sender.hint(5, types: many)
            #expect(try #require(await hints.next()).types == nil)
            group.cancelAll()
        }
        #expect(sender.read("\(sender.sender.uuidString):1,2:a.one")?.isOwn == true)
        for other in ["clock", "", "a:b:c:d"] { #expect(sender.read(other) == nil) }
        await bench.pool.close()
    }

    /// The worker reads them rarely but soon enough, because an advance of the clock waits for them.
    @Test func `events that a machine does not follow are skipped`() async throws {
        let bench = try await RuntimeBench()
        try await bench.running { runtime in
            let heard = try await bench.append(to: "a")
            try await bench.waitForLog { $0.contains { $0.causation == heard } }
            for _ in 0..<20 { try await bench.append(type: "other.thing.unknown", to: "a") }
            let partition = AggregateKey.device("a").partition(of: bench.partitions)
            let head = try await bench.log().filter { $0.partition == partition }.map(\.offset).max() ?? 0
            #expect(try await runtime.hasReached(partition: partition, offset: head, within: .seconds(60)))
        }
        try await bench.audit()
        await bench.pool.close()
    }

    @Test func `an event with a lost wake-up is processed`() async throws {
        let bench = try await RuntimeBench()
        try await bench.running { runtime in
            let heard = try await bench.append(to: "a")
            try await bench.waitForLog { $0.contains { $0.causation == heard } }
            let unheard = try await bench.append(to: "a", isHinted: false)
            try await bench.waitForLog { $0.contains { $0.causation == unheard } }
        }
        try await bench.audit()
        await bench.pool.close()
    }

    @Test func `a stream finds an event with a lost wake-up`() async throws {
        let bench = try await RuntimeBench()
        // No runtime, because its own events would come with wake-ups.
        let ears = try Ears(bench)
        let tail = LogTail(
            pool: bench.pool, partitions: bench.partitions, news: ears.receiver, logger: bench.logger)
        let group = ServiceGroup(services: [ears.receiver, tail], logger: bench.logger)
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            tasks.addTask { try await group.run() }
            try await ears.isListening.value()
            var stream = tail.events(of: .device("a"), after: 0).makeAsyncIterator()
            for isHinted in [true, true, false, false] {
                let id = try await bench.append(to: "a", isHinted: isHinted)
                #expect(try await stream.next()?.id == id)
            }
            await group.triggerGracefulShutdown()
            try await tasks.waitForAll()
        }
        await bench.pool.close()
    }
}

/// Another process that listens.
private struct Ears {
    let receiver: HintReceiver
    let isListening = Signal<Void>()
    let count = Tally()
    let partitions = Partitions()

    final class Partitions: Sendable {
        private let state = Mutex<Set<Int>>([])
        var all: Set<Int> { state.withLock { $0 } }
        func add(_ more: [Int]) { state.withLock { $0.formUnion(more) } }
    }

    init(_ bench: RuntimeBench) throws {
        let nobody = HintSender(pool: bench.pool, sender: UUID(), logger: bench.logger)
        receiver = HintReceiver(try ConnectionOptions(url: bench.url), sender: nobody, logger: bench.logger)
        receiver.follow { [isListening, count, partitions] news in
            switch news {
            case .everything: isListening.fire()
            case .hint(let hint):
                partitions.add(hint.partitions)
                count.add()
            case .clock: break
            }
        }
    }
}
