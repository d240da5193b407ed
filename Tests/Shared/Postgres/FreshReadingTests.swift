import Postgres
import TestSupport
import Testing

/// Reads that callers share.
@Suite("Fresh readings", .timeLimit(.minutes(1))) struct FreshReadingTests {
    private struct Fault: Error {}

    @Test func `a caller gets a read that began after its call`() async throws {
        let (gate, begun) = (TestSupport.Gate(), Tally())
        let reading = FreshReading<Int>(pause: .zero) {
            let number = begun.add()
            try await gate.pass()
            return number
        }
        async let first = reading.value()
        try await begun.reaches(1)
        // The read in progress may be older than this call.
        async let second = reading.value()
        gate.open()
        let numbers = try await (first, second)
        #expect(numbers == (1, 2))
    }

    @Test func `the number of reads does not grow with the number of callers`() async throws {
        let reads = Tally()
        let pause = Duration.milliseconds(20)
        let reading = FreshReading<Int>(pause: pause) { reads.add() }
        let begun = ContinuousClock.now
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<2000 { group.addTask { _ = try await reading.value() } }
            try await group.waitForAll()
        }
        let pauses = Int((ContinuousClock.now - begun) / pause)
        #expect(reads.count <= pauses + 1)
    }

    @Test func `a cancelled caller does not end the read of the others`() async throws {
        let (gate, begun) = (TestSupport.Gate(), Tally())
        let reading = FreshReading<Void>(pause: .zero) {
            begun.add()
            try await gate.pass()
        }
        let first = Task { try await reading.value() }
        try await begun.reaches(1)
        first.cancel()
        async let other: Void = reading.value()
        gate.open()
        try await other
        try await first.value
    }

    @Test func `a failed read fails only for its own callers`() async throws {
        let reads = Tally()
        let reading = FreshReading<Void>(pause: .zero) { if reads.add() == 1 { throw Fault() } }
        await #expect(throws: Fault.self) { try await reading.value() }
        try await reading.value()
    }
}
