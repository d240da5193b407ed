import TestSupport
import Testing

@Suite("Waiting without sleeping", .timeLimit(.minutes(5)))
struct SignalTests {
    @Test func `a signal gives its first value to earlier and later waiters`() async throws {
        let signal = Signal<Int>()
        async let early = signal.value()
        #expect(signal.fire(1))
        #expect(!signal.fire(2))
        #expect(try await early == 1)
        #expect(try await signal.value() == 1)
    }

    @Test func `a cancelled waiter ends with a cancellation error`() async throws {
        let signal = Signal<Int>()
        let waiter = Task { try await signal.value() }
        waiter.cancel()
        await #expect(throws: CancellationError.self) { try await waiter.value }
        signal.fire(1)
        #expect(try await signal.value() == 1)
    }

    @Test func `a gate blocks while it is closed`() async throws {
        let gate = Gate()
        let passed = Tally()
        let first = Task {
            try await gate.pass()
            passed.add()
        }
        try await gate.arrivals()
        #expect(passed.count == 0)
        gate.open()
        try await first.value
        try await gate.pass()
        gate.close()
        let second = Task { try await gate.pass() }
        try await gate.arrivals(3)
        second.cancel()
        await #expect(throws: CancellationError.self) { try await second.value }
        #expect(passed.count == 1)
    }

    @Test func `a tally wakes a waiter at its count and not before`() async throws {
        let tally = Tally()
        let third = Task { try await tally.reaches(3) }
        let never = Task { try await tally.reaches(4) }
        for _ in 0..<3 { tally.add() }
        try await third.value
        never.cancel()
        await #expect(throws: CancellationError.self) { try await never.value }
    }

    @Test func `withTimeout cancels a hanging operation and names it`() async throws {
        let cancelled = Signal<Void>()
        let never = Signal<Void>()
        let failure = await #expect(throws: TimedOut.self) {
            try await withTimeout(seconds: 0.01, "the dormouse to wake") {
                try await withTaskCancellationHandler {
                    try await never.value()
                } onCancel: {
                    cancelled.fire()
                }
            }
        }
        #expect(failure?.description == "timed out after 0.01 s: the dormouse to wake")
        try await cancelled.value()
    }

    @Test func `withTimeout does not wait for an operation that ignores cancellation`() async throws {
        let (stream, continuation) = AsyncStream.makeStream(of: Void.self)
        await #expect(throws: TimedOut.self) {
            try await withTimeout(seconds: 0.01) {
                await Task { for await _ in stream {} }.value
            }
        }
        continuation.finish()
    }

    private struct Refused: Error {}

    @Test func `withTimeout passes on values, errors and cancellation`() async throws {
        #expect(try await withTimeout(seconds: 60) { 7 } == 7)
        await #expect(throws: Refused.self) { try await withTimeout(seconds: 60) { throw Refused() } }
        let never = Signal<Void>()
        let outer = Task { try await withTimeout(seconds: 60) { try await never.value() } }
        outer.cancel()
        await #expect(throws: CancellationError.self) { try await outer.value }
    }

    @Test func `eventually repeats a condition until it is true or the time is over`() async throws {
        let asked = Tally()
        try await eventually(describe: "the third answer") { asked.add() == 3 }
        #expect(asked.count == 3)
        let failure = await #expect(throws: TimedOut.self) {
            try await eventually(within: 0.01, describe: "pigs to fly") { false }
        }
        #expect(failure?.what == "pigs to fly")
    }
}
