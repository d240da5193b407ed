import Testing

@testable import Postgres

@Suite("Pool state")
struct PoolStateTests {
    private typealias State = PoolState<Int, String>
    private let start = ContinuousClock.now

    private func served(_ handover: State.Handover) -> String? {
        if case .to(let waiter) = handover { waiter } else { nil }
    }

    @Test func `callers open members up to the size and then wait`() {
        var state = State(size: 2)
        guard case .permit = state.acquire(), case .permit = state.acquire(), case .wait = state.acquire() else {
            Issue.record("wrong acquisitions")
            return
        }
        #expect(state.open == 2)
    }

    @Test func `waiters are served in the order of arrival`() {
        var state = State(size: 1)
        _ = state.acquire()
        state.enqueue(1, "first", at: start)
        state.enqueue(2, "second", at: start)
        #expect(served(state.release(7, at: start)) == "first")
        #expect(served(state.release(7, at: start)) == "second")
        #expect(served(state.release(7, at: start)) == nil)
        #expect(state.resting.map(\.member) == [7])
    }

    @Test func `the most recently idle member is used first`() {
        var state = State(size: 2)
        _ = state.acquire()
        _ = state.acquire()
        _ = state.release(1, at: start)
        _ = state.release(2, at: start)
        guard case .member(let resting) = state.acquire() else {
            Issue.record("no member")
            return
        }
        #expect(resting.member == 2)
    }

    @Test func `a waiter may replace a broken member`() {
        var state = State(size: 1)
        _ = state.acquire()
        state.enqueue(1, "first", at: start)
        #expect(served(state.giveUpPlace(at: start)) == "first")
        #expect(state.open == 1)
        #expect(served(state.giveUpPlace(at: start)) == nil)
        #expect(state.open == 0)
    }

    @Test func `all waiters fail with a failed attempt to open if no member is open`() {
        var state = State(size: 2)
        _ = state.acquire()
        _ = state.acquire()
        for (id, waiter) in ["first", "second", "third"].enumerated() { state.enqueue(UInt64(id), waiter, at: start) }
        state.opened()
        let one = state.failedToOpen(at: start)
        #expect(served(one.next) == "first" && one.failed.isEmpty)
        // The open member breaks, so the next waiter may open another.
        #expect(served(state.giveUpPlace(at: start)) == "second")
        let two = state.failedToOpen(at: start)
        #expect(served(two.next) == nil && two.failed == ["third"])
        #expect(state.open == 1 && state.opening == 1 && state.waitingCount == 0)
    }

    @Test func `only waiters past the timeout expire`() {
        var state = State(size: 1)
        _ = state.acquire()
        state.enqueue(1, "early", at: start)
        state.enqueue(2, "late", at: start + .seconds(5))
        #expect(state.expire(start + .seconds(1)) == ["early"])
        #expect(state.waitingCount == 1)
        #expect(state.longestWaitSince == start + .seconds(5))
    }

    @Test func `an abandoned waiter is not served`() {
        var state = State(size: 1)
        _ = state.acquire()
        state.enqueue(1, "gone", at: start)
        #expect(state.abandon(1) == "gone")
        #expect(state.abandon(1) == nil)
        #expect(served(state.release(7, at: start)) == nil)
    }

    @Test func `a closed pool refuses callers and closes released members`() {
        var state = State(size: 2)
        _ = state.acquire()
        _ = state.acquire()
        _ = state.release(1, at: start)
        let (members, waiters) = state.close()
        #expect(members == [1])
        #expect(waiters.isEmpty)
        guard case .closed = state.acquire(), case .closed = state.release(2, at: start) else {
            Issue.record("still open")
            return
        }
        #expect(state.open == 0)
    }
}
