import Synchronization

/// Wakes the check of the deadlines of a process. Between two deadlines the process sleeps.
///
/// It rings when a partition gets a deadline before all known ones, when a partition has events to skip, and when the
/// suite's clock was changed.
final class DeadlineAlarm: Sendable {
    private let signal = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
    /// The earliest deadline that the check knows, in milliseconds since 1970. It is `Int64.max` while the check reads the
    /// deadlines, so each deadline that is set meanwhile rings.
    private let known = Atomic<Int64>(.max)

    /// Several rings at the same time are one element.
    var rings: AsyncStream<Void> { signal.stream }

    func ring() { signal.continuation.yield() }

    /// Rings if a partition's new deadline is earlier than all known ones. The partition stores the deadline before the
    /// call, so that a later ``earliest(_:)`` reads it.
    ///
    /// - Parameter due: in milliseconds since 1970.
    func note(_ due: Int64) {
        if due < known.load(ordering: .sequentiallyConsistent) { ring() }
    }

    /// Returns the earliest deadline. One that is noted during the call is either read or rings.
    ///
    /// - Parameter read: reads the deadlines of all partitions, and returns the earliest.
    func earliest(_ read: () -> Int64) -> Int64 {
        known.store(.max, ordering: .sequentiallyConsistent)
        let earliest = read()
        known.store(earliest, ordering: .sequentiallyConsistent)
        return earliest
    }
}

/// The times at which a process checks its deadlines and polls the log.
struct TickPlan {
    /// The shortest interval between two checks. On a busy process a check then finds several deadlines.
    static let shortest = Duration.milliseconds(10)
    /// The interval of the poll, in case a wake-up was lost.
    let poll: Duration
    /// The shortest interval between looks that only skip events.
    let glance: Duration
    private(set) var nextCheck: ContinuousClock.Instant
    private(set) var nextPoll: ContinuousClock.Instant
    private(set) var nextGlance: ContinuousClock.Instant
    /// The end of the earliest sleep under way.
    private var sleepEnd: ContinuousClock.Instant?

    init(poll: Duration, glance: Duration, now: ContinuousClock.Instant) {
        self.poll = poll
        self.glance = glance
        (nextCheck, nextPoll, nextGlance) = (now, now, now)
    }

    /// Begins a check after a ring.
    ///
    /// - Returns: false if it is too early.
    mutating func begins(at now: ContinuousClock.Instant) -> Bool {
        if let end = sleepEnd, end <= now { sleepEnd = nil }
        guard nextCheck <= now else { return false }
        nextCheck = now + Self.shortest
        return true
    }

    /// Whether the poll is due.
    func isPollDue(at now: ContinuousClock.Instant) -> Bool { nextPoll <= now }

    /// Plans the next poll. It is measured from the end of this one, because a database that does not answer keeps a poll
    /// waiting.
    mutating func polled(at end: ContinuousClock.Instant) { nextPoll = end + poll }

    /// Whether the look that skips events is due; then plans the next one.
    mutating func glances(at now: ContinuousClock.Instant) -> Bool {
        guard nextGlance <= now else { return false }
        nextGlance = now + glance
        return true
    }

    /// Plans a ring.
    ///
    /// - Parameters:
    ///   - wait: the time until the earliest deadline; nil without one.
    ///   - hasSkips: whether there are events to skip.
    /// - Returns: the end of a new sleep; nil if the sleep under way ends early enough.
    mutating func sleep(
        at now: ContinuousClock.Instant, wait: Duration?, hasSkips: Bool
    ) -> ContinuousClock.Instant? {
        var end = nextPoll
        if let wait, wait < poll { end = min(end, now + wait) }
        if hasSkips { end = min(end, nextGlance) }
        end = max(end, nextCheck)
        if let sleepEnd, sleepEnd <= end { return nil }
        sleepEnd = end
        return end
    }
}
