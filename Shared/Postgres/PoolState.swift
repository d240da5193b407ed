import DequeModule

/// The bookkeeping of the pool: idle members and waiters in order. Pure: it does not wait or connect. `Member` is a
/// connection, `Waiter` a continuation.
struct PoolState<Member, Waiter> {
    /// An idle member. The latest one is used first, for its warm caches on both sides.
    struct Resting {
        let member: Member
        let since: ContinuousClock.Instant
    }

    private struct Waiting {
        let id: UInt64
        let since: ContinuousClock.Instant
        let waiter: Waiter
    }

    enum Acquisition {
        case member(Resting)
        /// The caller may open a member; `open` counts it already.
        case permit
        case wait
        case closed
    }

    enum Handover {
        case to(Waiter)
        case none
        /// The pool is closed; the caller closes the member.
        case closed
    }

    let size: Int
    private(set) var isClosed = false
    /// The members that are idle, in use, or being opened.
    private(set) var open = 0
    /// The members that are being opened.
    private(set) var opening = 0
    private(set) var resting: [Resting] = []
    private var waiting: Deque<Waiting> = []
    /// The last time a member was found broken. Members that are idle since before may be broken too.
    private(set) var lastBreak: ContinuousClock.Instant?

    var waitingCount: Int { waiting.count }

    init(size: Int) { self.size = size }

    /// Returns the next step of a new caller; after `.wait` it calls ``enqueue(_:_:at:)``.
    mutating func acquire() -> Acquisition {
        if isClosed { return .closed }
        guard waiting.isEmpty else { return .wait }
        if let latest = resting.popLast() { return .member(latest) }
        guard open < size else { return .wait }
        open += 1
        opening += 1
        return .permit
    }

    mutating func enqueue(_ id: UInt64, _ waiter: Waiter, at now: ContinuousClock.Instant) {
        waiting.append(Waiting(id: id, since: now, waiter: waiter))
    }

    /// Hands the member to the longest waiter; without waiters it becomes idle.
    mutating func release(_ member: Member, at now: ContinuousClock.Instant) -> Handover {
        if isClosed {
            open -= 1
            return .closed
        }
        if let next = waiting.popFirst() { return .to(next.waiter) }
        resting.append(Resting(member: member, since: now))
        return .none
    }

    /// Records that a member is open.
    mutating func opened() { opening -= 1 }

    /// Records that a member could not be opened.
    ///
    /// - Returns: the waiters that fail with it. While other members are open, the longest waiter may open the next
    ///   one. Otherwise all fail, instead of one attempt for each.
    mutating func failedToOpen(at now: ContinuousClock.Instant) -> (next: Handover, failed: [Waiter]) {
        opening -= 1
        guard open - opening > 1 else {
            let failed = waiting.map(\.waiter)
            waiting = []
            return (giveUpPlace(at: now), failed)
        }
        return (giveUpPlace(at: now), [])
    }

    /// Removes a member; the longest waiter may open another.
    mutating func giveUpPlace(at now: ContinuousClock.Instant) -> Handover {
        lastBreak = now
        if !isClosed, let next = waiting.popFirst() {
            opening += 1
            return .to(next.waiter)
        }
        open -= 1
        return isClosed ? .closed : .none
    }

    /// Removes a waiter; nil if it was served already.
    mutating func abandon(_ id: UInt64) -> Waiter? {
        guard let index = waiting.firstIndex(where: { $0.id == id }) else { return nil }
        return waiting.remove(at: index).waiter
    }

    /// Removes the waiters that have waited since `limit` or before, longest first.
    mutating func expire(_ limit: ContinuousClock.Instant) -> [Waiter] {
        var expired: [Waiter] = []
        while let first = waiting.first, first.since <= limit {
            waiting.removeFirst()
            expired.append(first.waiter)
        }
        return expired
    }

    var longestWaitSince: ContinuousClock.Instant? { waiting.first?.since }

    mutating func close() -> (members: [Member], waiters: [Waiter]) {
        isClosed = true
        let all = (resting.map(\.member), waiting.map(\.waiter))
        open -= resting.count
        resting = []
        waiting = []
        return all
    }
}
