import Contracts
import Dispatch
import EventLog
import Foundation
import Machines
import Postgres
import TestSupport
import Testing

@testable import Runtime

/// The queue of a partition: in order, bounded in length and time.
@Suite(.tags(.database), .timeLimit(.minutes(3))) struct InboxTests {
    private func submit(_ amount: Int, to queue: CommandQueue<Counter>, _ first: Signal<Void> = Signal()) async throws
        -> Answer
    {
        try await queue.submit(.add(amount, to: "a")) { first.fire() }
    }

    private func amounts(_ taken: [CommandQueue<Counter>.Waiting]) -> [Int] {
        taken.map { if case .add(let amount) = $0.submission.command { amount } else { 0 } }
    }

    /// Submits a number of commands in order.
    private func fill(
        _ queue: CommandQueue<Counter>, _ count: Int, _ group: inout ThrowingTaskGroup<Answer, any Error>
    ) async throws {
        for amount in 1...count {
            group.addTask { try await submit(amount, to: queue) }
            while queue.count < amount { await Task.yield() }
        }
    }

    @Test func `commands are taken in order and return to the front`() async throws {
        let queue = CommandQueue<Counter>(limit: 10)
        try await withThrowingTaskGroup(of: Answer.self) { group in
            try await fill(queue, 5, &group)
            let taken = queue.take(3)
            #expect(amounts(taken) == [1, 2, 3])
            queue.putBack(Array(taken.dropFirst()))
            let rest = queue.take(.max)
            #expect(amounts(rest) == [2, 3, 4, 5] && queue.isEmpty)
            for one in [taken[0]] + rest {
                one.caller.resume(returning: Answer(body: [], partition: 0, offset: 1, isReplay: false))
            }
            try await group.waitForAll()
        }
    }

    @Test func `a command that runs alone ends the batch before it`() async throws {
        let queue = CommandQueue<Counter>(limit: 10)
        await #expect(throws: RuntimeError.failed) {
            try await withThrowingTaskGroup(of: Answer.self) { group in
                try await fill(queue, 4, &group)
                func isThird(_ one: Submission<Counter>) -> Bool {
                    if case .add(3) = one.command { true } else { false }
                }
                let portions = [queue.take(9, isAlone: isThird), queue.take(9, isAlone: isThird), queue.take(9)]
                #expect(portions.map(amounts) == [[1, 2], [3], [4]])
                for one in portions.joined() { one.caller.resume(throwing: RuntimeError.failed) }
                try await group.waitForAll()
            }
        }
    }

    @Test func `a full or closed queue refuses commands`() async throws {
        let queue = CommandQueue<Counter>(limit: 2)
        try await withThrowingTaskGroup(of: Answer.self) { group in
            try await fill(queue, 2, &group)
            await #expect(throws: RuntimeError.overloaded) { try await submit(3, to: queue) }
            queue.close(.stopping)
            await #expect(throws: RuntimeError.stopping) { try await submit(3, to: queue) }
            let taken = queue.take(.max)
            #expect(amounts(taken) == [1, 2])
            for one in taken {
                one.caller.resume(returning: Answer(body: [], partition: 0, offset: 1, isReplay: false))
            }
            try await group.waitForAll()
        }
    }

    @Test func `a command that has waited too long is refused as overloaded, and later ones still wait`() async throws {
        let queue = CommandQueue<Counter>(limit: 10)
        try await withThrowingTaskGroup(of: Result<Answer, any Error>.self) { group in
            func add(_ amount: Int) async {
                group.addTask {
                    do { return .success(try await submit(amount, to: queue)) } catch { return .failure(error) }
                }
                while queue.count < amount { await Task.yield() }
            }
            for amount in 1...3 { await add(amount) }
            // A command that a batch returned has waited since its arrival.
            queue.putBack(queue.take(1))
            let moment = ContinuousClock.now
            await add(4)
            queue.refuse(before: moment, .overloaded)
            for _ in 1...3 {
                let refused = try #require(try await group.next())
                #expect(throws: RuntimeError.overloaded) { try refused.get() }
            }
            let rest = queue.take(.max)
            #expect(amounts(rest) == [4])
            for one in rest {
                one.caller.resume(returning: Answer(body: [], partition: 0, offset: 1, isReplay: false))
            }
            try await group.waitForAll()
        }
    }

    @Test func `a partition whose batch does not end refuses the commands that wait`() async throws {
        let fixture = try await RuntimeFixture()
        let engine = fixture.engine()
        let device = try #require(fixture.oneDeviceInEach.first)
        let answered = Signal<Void>()
        let waiting = Task {
            defer { answered.fire(()) }
            return try await engine.submit(.add(1, to: device))
        }
        // The engine does not run, so no batch takes the command.
        try await eventually(describe: "the command is refused") {
            engine.inbox(of: .device(device)).refuseStale(at: .now + PartitionInbox<Counter>.queuePatience)
            return answered.hasFired
        }
        await #expect(throws: RuntimeError.overloaded) { try await waiting.value }
        await fixture.pool.close()
    }

    @Test func `a running partition refuses a command that waits 5 s for its batch`() async throws {
        let fixture = try await RuntimeFixture()
        let device = try #require(fixture.oneDeviceInEach.first)
        try await fixture.running(poolSize: 1) { runtime in
            try await eventually(describe: "the process owns all partitions") {
                await runtime.ownedPartitions == fixture.partitions
            }
            try await runtime.pool.withConnection { _ in
                // Its batch waits for the only connection.
                let first = Task { try await runtime.submit(.add(1, to: device)) }
                try await Task.sleep(for: .milliseconds(500))
                await #expect(throws: RuntimeError.overloaded) { try await runtime.submit(.add(2, to: device)) }
                first.cancel()
            }
        }
        await fixture.pool.close()
    }

    @Test func `a cancelled command does not run`() async throws {
        let queue = CommandQueue<Counter>(limit: 2)
        let first = Signal<Void>()
        let waiting = Task { try await submit(1, to: queue, first) }
        try await first.value()
        waiting.cancel()
        await #expect(throws: CancellationError.self) { try await waiting.value }
        #expect(queue.isEmpty)
        let late = Task {
            while !Task.isCancelled { await Task.yield() }
            return try await submit(2, to: queue)
        }
        late.cancel()
        await #expect(throws: CancellationError.self) { try await late.value }
        #expect(queue.isEmpty)
    }

    @Test func `a full partition refuses one more command and answers all waiting ones`() async throws {
        let fixture = try await RuntimeFixture()
        let engine = fixture.engine()
        let device = try #require(fixture.oneDeviceInEach.first)
        let limit = PartitionInbox<Counter>.queueLimit
        try await withThrowingTaskGroup(of: Result<Int, any Error>.self) { group in
            for _ in 0...limit {
                group.addTask {
                    do { return .success(try await engine.submit(.add(1, to: device)).offset) } catch {
                        return .failure(error)
                    }
                }
            }
            // The engine does not run, so only the excess command gets an answer.
            let first = try #require(try await group.next())
            #expect(throws: RuntimeError.overloaded) { try first.get() }
            async let running: Void = engine.run()
            var offsets: Set<Int> = []
            for try await answer in group { offsets.insert(try answer.get()) }
            #expect(offsets == Set(1...limit))
            await engine.stop()
            await running
        }
        await fixture.pool.close()
    }

    /// All partitions of a process share an actor, and a decision holds it.
    @Test func `a wake-up is noted while a decision is under way`() async throws {
        let fixture = try await RuntimeFixture()
        let devices = fixture.oneDeviceInEach
        // The watchdog must not end the tests on a slow machine.
        try await fixture.running(limits: StallLimits(decision: .seconds(600))) { runtime in
            let (isDeciding, mayEnd) = (Signal<Void>(), DispatchSemaphore(value: 0))
            let slow = Submission<Counter>(
                key: .device(devices[0]), command: .add(1), origin: Origin(id: UUID())
            ) { _, _ in
                isDeciding.fire()
                mayEnd.wait()
                return []
            }
            async let answer = runtime.submit(slow)
            defer { mayEnd.signal() }
            try await isDeciding.value()
            let others = runtime.engine.inboxes.dropFirst()
            for inbox in others { _ = inbox.takesLook() }
            try await fixture.wakeUp(others.map(\.partition))
            for inbox in others {
                try await eventually(describe: "partition \(inbox.partition) is to be read") { inbox.takesLook() }
            }
            mayEnd.signal()
            _ = try await answer
        }
        await fixture.pool.close()
    }
}
