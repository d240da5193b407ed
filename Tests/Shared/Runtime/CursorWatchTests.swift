import Synchronization
import TestSupport
import Testing

@testable import Runtime

/// Requests that wait until a service has reached a position.
@Suite struct CursorWatchTests {
    @Test func `a thousand waiters cost as many queries as one`() async throws {
        let reads = Tally()
        // The twentieth look finds the position.
        let watch = CursorWatch { _ in reads.add() }
        let begun = ContinuousClock.now
        let end = begun + .seconds(60)
        try await withThrowingTaskGroup(of: Bool.self) { group in
            for _ in 0..<1000 { group.addTask { try await watch.hasReached(20, in: 0, by: end) } }
            for try await isThere in group { #expect(isThere) }
        }
        #expect(reads.count == 20)
        #expect(ContinuousClock.now - begun >= CursorWatch.pause * 19)
        #expect(try await !watch.hasReached(100, in: 0, by: .now))
    }

    @Test func `all waiters of a partition return, and later ones need no query`() async throws {
        let position = Mutex(4)
        let reads = Tally()
        let watch = CursorWatch { _ in
            reads.add()
            return position.withLock { $0 }
        }
        let end = ContinuousClock.now + .seconds(60)
        try await withThrowingTaskGroup(of: Bool.self) { group in
            for _ in 0..<100 { group.addTask { try await watch.hasReached(5, in: 0, by: end) } }
            while reads.count < 2 { await Task.yield() }
            position.withLock { $0 = 6 }
            for try await isThere in group { #expect(isThere) }
        }
        let before = reads.count
        #expect(try await watch.hasReached(6, in: 0, by: .now))
        #expect(reads.count == before)
        // Another partition needs its own query.
        #expect(try await watch.hasReached(6, in: 1, by: .now))
        #expect(reads.count == before + 1)
    }

    @Test func `a cancelled waiter does not end the wait of the others`() async throws {
        let gate = Gate()
        let watch = CursorWatch { _ in
            try await gate.pass()
            return 5
        }
        let end = ContinuousClock.now + .seconds(60)
        async let other = watch.hasReached(5, in: 0, by: end)
        let first = Task { try await watch.hasReached(5, in: 0, by: end) }
        first.cancel()
        gate.open()
        let isThere = try await other
        #expect(isThere)
    }

    @Test func `a process hurries while a request waits for its position`() async throws {
        let hurries = Tally()
        let reads = Tally()
        let watch = CursorWatch { _ in
            reads.add()
        } hurry: { _ in
            hurries.add()
        }
        #expect(try await watch.hasReached(4, in: 0, by: .now + .seconds(60)))
        #expect(reads.count == 4 && hurries.count == 3)
        #expect(try await watch.hasReached(4, in: 0, by: .now + .seconds(60)))
        #expect(hurries.count == 3)
    }
}
