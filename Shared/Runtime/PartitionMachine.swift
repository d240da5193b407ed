import Contracts
import Foundation
import Machines
import Postgres
import Timeline

/// The batches of one partition, as a pure value. It has no I/O and no clock: ``BatchEngine`` executes its actions, and
/// reports each result as the next event.
///
/// ```mermaid
/// stateDiagram-v2
///     [*] --> idle
///     idle --> gathering: begin
///     state transaction {
///         gathering --> findingSuspects: commands may have ended a process
///         findingSuspects --> recordingCommands: no other process has recorded them
///         recordingCommands --> gathering: recorded
///         gathering --> recordingTrial: an input is on trial
///         recordingTrial --> gathering: recorded
///         gathering --> readingUnread: refusals may be early
///         gathering --> committing: decided
///         gathering --> gathering: the assumption can't be verified
///         committing --> gathering: the assumption does not hold
///         readingUnread --> committing: decided
///     }
///     committing --> settling: the answer to the commit is lost
///     transaction --> pausing: a failure that passes
///     settling --> pausing: not committed
///     pausing --> gathering: resumed
///     transaction --> idle: committed or nothing to commit or failed
///     settling --> idle: committed or unknown
///     pausing --> idle: cancelled
/// ```
struct PartitionMachine<M: Machine>: Sendable {
    /// A lease on the partition, for events and deadlines.
    struct Lease: Sendable, Equatable {
        var owner: UUID
        var epoch: Int
    }

    /// A batch under way.
    struct Attempt: Sendable {
        var plan: BatchPlan
        var submissions: [Submission<M>]
        /// The end of the patience with an unreachable database.
        var end: ContinuousClock.Instant
        var pause = Duration.milliseconds(5)
        /// Whether it was found not to be committed once, and runs again.
        var isRepeated = false
        /// The input from the log that this attempt has recorded.
        var recordedTrial: String?
        /// The SQLSTATE of the first refusal that does not show its cause.
        var refusal: String?
        /// Whether it may decide without a look at the database.
        var mayAssume = true
    }

    enum Phase: Sendable {
        case idle
        case gathering(Attempt)
        case findingSuspects(Attempt, BatchInput<M>, names: Set<String>)
        case recordingCommands(Attempt, names: Set<String>)
        case recordingTrial(Attempt, name: String)
        case readingUnread(Attempt, BatchInput<M>, Batch<M>, name: String?)
        case committing(Attempt, BatchInput<M>, BatchOutcome<M>, name: String?, cleared: [String])
        case settling(Attempt, BatchOutcome<M>, headBefore: Int, name: String?)
        case pausing(Attempt)
    }

    /// How long commands wait for an unreachable database, from its first failure. Later ones get one attempt until it
    /// returns.
    static var patience: Duration { .seconds(5) }
    /// The shortest interval between looks that only skip events that the machine does not follow. Each look is a
    /// transaction.
    static var glanceInterval: Duration { .milliseconds(100) }
    /// Slot reservations are kept for this time. A decision that lags behind the clock by more could reuse a slot.
    static var slotsKept: Interval { .days(1) }

    let partition: Int
    let policy: M.Policy
    /// A ledger without reservations.
    let noSlots: SlotAllocator
    private(set) var lease: Lease?
    /// Why only a newer program can read the log further.
    private(set) var halt: Halt?
    var quarantine: Quarantine
    var commandGuard = CommandGuard()
    /// Unreadable states of an older machine, with their number of events at the failed upgrade.
    var unreadable: [AggregateKey: Int] = [:]
    /// The folds of older and incomplete states, for the next batches.
    var folded: [AggregateKey: Aggregate<M>] = [:]
    /// The current outage and the last key that was notified of it under this lease.
    var notified: (outage: Outage, key: String)?
    var isStopping = false
    /// The first failure since the last success, if the database could not be reached or batches were given up.
    var unreachableSince: ContinuousClock.Instant?
    /// Whether a failure is logged. A success resets it.
    var isFailureLogged = false
    /// Since when another session holds a lock that the batches need.
    var heldUpSince: ContinuousClock.Instant?
    var phase = Phase.idle

    // The known state of the partition. It is valid while the cursor row still names `lastBatch`.

    var lastBatch: UUID?
    /// The slot reservations under the machine's ceiling; nil if unknown.
    var slots: SlotAllocator?
    var hasParkedKeys = false
    /// The last known head.
    var lastHead = 0
    /// The stored version of the form in which states are written, as the last look has found.
    var form = 0
    /// Whether an input may have ended an owner, as the last look has found.
    var isDoubtful = false
    var assumptions = AssumptionPace()
    var days = UnreadDays()
    /// The earliest known deadline.
    var nextDue: Instant?

    var looksAtLog = false
    /// Whether the last batch left events in the log. The next one starts without a pause.
    var isBehind = false
    private(set) var noLookBefore: ContinuousClock.Instant
    /// Whether the next batch must not share its transaction, because a shared one failed.
    var isAlone = false

    init(partition: Int, of partitions: Int, policy: M.Policy, now: ContinuousClock.Instant) {
        self.partition = partition
        self.policy = policy
        noSlots = SlotAllocator(ceiling: M.ceiling(policy), partition: partition, partitions: partitions)
        quarantine = Quarantine(now: now)
        noLookBefore = now
    }

    /// Whether the next batch may share its transaction with those of other partitions.
    var mayShare: Bool { quarantine.isNormal && !isAlone }

    var isIdle: Bool { if case .idle = phase { true } else { false } }

    // MARK: Lease and looks

    /// Takes a lease.
    ///
    /// - Parameter isSuspicious: whether two owners in a row lost the lease without a release, and the second one never
    ///   read to the head. Then an input may have ended them. One lost owner may have been killed.
    mutating func hold(_ lease: Lease, isSuspicious: Bool, now: ContinuousClock.Instant) {
        guard self.lease?.epoch != lease.epoch else { return }
        self.lease = lease
        quarantine.begin(isSuspicious: isSuspicious)
        notified = nil
        // Even soon after a failure under the former lease: the trials and the outages need a look.
        noLookBefore = now
        look(now: now)
    }

    mutating func leaseLost() {
        lease = nil
        folded = [:]
        nextDue = nil
        quarantine.leaseLost()
    }

    /// Makes the next batch read the log and the deadlines.
    mutating func look(now: ContinuousClock.Instant) {
        guard lease != nil, halt == nil, noLookBefore <= now else { return }
        looksAtLog = true
    }

    /// Makes the next batch read the log again, because there is more or because a batch was refused.
    mutating func lookAgain() { looksAtLog = true }

    /// Leaves the next look to the poll.
    mutating func lookLater(now: ContinuousClock.Instant) {
        looksAtLog = false
        noLookBefore = now + Quarantine.pause
    }

    mutating func halt(for reason: Halt) { halt = halt ?? reason }

    mutating func resume() { halt = nil }

    /// Takes note of a deadline.
    mutating func note(_ due: Instant?) {
        if let due { nextDue = nextDue.map { min($0, due) } ?? due }
    }

    /// Whether the next batch reads the log.
    var takesLog: Bool { looksAtLog && lease != nil && halt == nil && !isStopping }

    /// Plans the next batch; nil without work.
    ///
    /// - Parameter nextIsSuspect: whether the oldest waiting command may have ended a process. It runs alone, as a
    ///   trial, without inputs from the log.
    mutating func plan(hasCommands: Bool, nextIsSuspect: Bool) -> BatchPlan? {
        guard isIdle, var plan = quarantine.plan(hasCommands: hasCommands, takesLog: takesLog) else { return nil }
        if nextIsSuspect, plan.commands > 0 {
            plan = BatchPlan(commands: 1, log: nil, isTrial: true, isAlone: true)
        }
        if isAlone { plan.isAlone = true }
        return plan
    }

    /// Drops everything that is known about the partition.
    mutating func forget() -> [Action] {
        lastBatch = nil
        slots = nil
        return [.forget]
    }
}

/// The result of a batch in memory.
struct BatchOutcome<M: Machine>: Sendable {
    var batch: Batch<M>
    var head = 0
    var lastBatch: UUID?
    var hasMore = false
    /// Whether no input from the log was left.
    var isThrough = false
    /// The head and its day, if the log was read to it.
    var readTo: (head: Int, day: Int)?
    var halt: Halt?
}
