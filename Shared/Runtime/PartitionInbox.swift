import EventLog
import Machines
import Synchronization
import Timeline

/// The part of a partition that any thread may use, without waiting for a batch: its waiting commands, its flags, its
/// progress and its cache.
final class PartitionInbox<M: Machine>: Sendable {
    /// The most waiting commands: one batch. More are refused as overloaded. So one stuck partition leaves half of the
    /// process's request slots to the others.
    static var queueLimit: Int { Quarantine.Limits().commands }
    /// The longest wait of a command for its batch. Then it is refused: as overloaded, or because the database is not
    /// available.
    static var queuePatience: Duration { .seconds(5) }

    let partition: Int
    let progress: PartitionProgress
    let queue: CommandQueue<M>
    let cache: StateCache<M>
    private let looks = Atomic(false)
    /// Whether there are new events that this machine does not follow.
    private let skips = Atomic(false)
    /// The earliest known deadline, in milliseconds since 1970.
    private let due = Atomic<Int64>(.max)
    private let alarm: DeadlineAlarm
    /// The time of the last look at the log, in milliseconds since ``start``.
    private let lastLook = Atomic<Int64>(-1000)
    private let start = ContinuousClock.now
    private let isUnreachable = Atomic(false)

    init(partition: Int, budget: StateBudget, alarm: DeadlineAlarm = DeadlineAlarm()) {
        self.partition = partition
        self.alarm = alarm
        progress = PartitionProgress(partition: partition)
        queue = CommandQueue<M>(limit: Self.queueLimit)
        cache = StateCache(budget)
    }

    /// Requests a look at the log.
    func look() { looks.store(true, ordering: .relaxed) }

    /// Requests a look at the log for new events.
    ///
    /// - Parameter isOfInterest: whether the machine may follow one of them. Otherwise the cursor only skips them, at
    ///   most once in each ``PartitionMachine/glanceInterval``.
    /// - Returns: whether the look is due now.
    func hear(isOfInterest: Bool, at now: ContinuousClock.Instant = .now) -> Bool {
        let isRecent = milliseconds(at: now) - lastLook.load(ordering: .relaxed) < Self.glance
        guard isOfInterest || !isRecent else {
            if !skips.exchange(true, ordering: .relaxed) { alarm.ring() }
            return false
        }
        look()
        return true
    }

    private static var glance: Int64 { Int64(PartitionMachine<M>.glanceInterval / .milliseconds(1)) }
    private func milliseconds(at now: ContinuousClock.Instant) -> Int64 {
        Int64(start.duration(to: now) / .milliseconds(1))
    }

    /// Whether there are events to skip.
    var hasSkips: Bool { skips.load(ordering: .relaxed) }

    /// Returns whether there are events to skip, and resets the flag.
    func takesSkips() -> Bool { skips.exchange(false, ordering: .relaxed) }

    /// Returns whether a look is requested, and resets the flag.
    func takesLook() -> Bool { looks.exchange(false, ordering: .relaxed) }

    /// Records a look at the log.
    func looked(at now: ContinuousClock.Instant = .now) {
        lastLook.store(milliseconds(at: now), ordering: .relaxed)
        skips.store(false, ordering: .relaxed)
    }

    /// The earliest known deadline, in milliseconds since 1970.
    var nextDue: Int64 { due.load(ordering: .sequentiallyConsistent) }

    /// Stores the earliest known deadline.
    func set(nextDue: Instant?) {
        let milliseconds = nextDue?.milliseconds ?? .max
        due.store(milliseconds, ordering: .sequentiallyConsistent)
        alarm.note(milliseconds)
    }

    /// Takes note whether the last batch failed to reach the database.
    func set(isUnreachable: Bool) { self.isUnreachable.store(isUnreachable, ordering: .relaxed) }

    /// Refuses the commands that have waited too long, even while a batch does not end.
    func refuseStale(at now: ContinuousClock.Instant) {
        let isUnreachable = isUnreachable.load(ordering: .relaxed)
        queue.refuse(before: now - Self.queuePatience, isUnreachable ? .databaseUnavailable : .overloaded)
    }
}
