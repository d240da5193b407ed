import Contracts
import EventLog
import Foundation
import Logging
import Machines
import OrderedCollections
import Postgres
import Synchronization
import Telemetry
import Timeline

/// Runs one service's machine on one partition, batch after batch. While a batch commits, the next one gathers.
actor PartitionWorker<M: Machine> {
    /// The most waiting commands: one batch. More are refused as overloaded. So one stuck partition leaves half of the
    /// process's request slots to the others.
    static var queueLimit: Int { batchLimit }
    /// The longest wait of a command for its batch. Then it is refused as overloaded.
    static var queuePatience: Duration { .seconds(5) }
    static var batchLimit: Int { 500 }
    static var inputLimit: Int { 200 }
    /// The number of inputs that quarantine tries one at a time. The batch that ended the last owner can't have held
    /// more.
    static var trialLimit: Int { 2 * inputLimit + 100 }
    /// The pause after a failed look at the log. The 500 ms poll then looks again.
    static var pauseAfterFailure: Duration { .milliseconds(250) }

    /// The shortest interval between looks that only skip events that the machine does not follow. Each look is a
    /// transaction.
    static var glanceInterval: Duration { .milliseconds(100) }

    /// Slot reservations are kept for this time. A decision that lags behind the clock by more could reuse a slot.
    static var momentsKept: Interval { .days(1) }

    typealias Waiting = CommandQueue<M>.Waiting

    let partition: Int
    let pool: ConnectionPool
    let clock: SharedClock
    let policy: M.Policy
    let wakeUps: WakeUpSender
    /// One trial at a time in a process. So when an input ends the process, no other input is recorded as tried.
    let trials: AsyncSemaphore
    /// At most as many batches at a time as pooled connections. Waiting workers collect more inputs, so batches grow
    /// with the load and cost less for each input.
    private let semaphore: AsyncSemaphore
    private var holdsTurn = false
    let statements: Statements
    let logger: Logger
    /// The partition's progress, for other threads.
    nonisolated let progress: PartitionProgress
    private let signal = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
    private let queue = CommandQueue<M>(limit: PartitionWorker.queueLimit)
    private(set) var isStopping = false
    private var lookAtLog = false
    private var noLookBefore = ContinuousClock.now
    private var lastLook = ContinuousClock.now - .seconds(1)
    /// Whether there are new events that this machine does not follow.
    private nonisolated let isToPassOver = Atomic(false)
    /// The lease for events and deadlines; nil while another replica holds it.
    private(set) var lease: (owner: UUID, epoch: Int)?
    /// The reason why only a newer program can read the log further.
    private(set) var halt: String? {
        didSet { if let halt { progress.halted(halt) } }
    }

    // The size of a batch during bisection and quarantine.

    /// The most inputs of a batch. Bisection halves it until the input at fault is alone.
    private var window = Int.max
    /// The number of inputs that quarantine still tries one at a time.
    private var caution = 0
    private var logHadItsTurn = false
    /// Inputs that become dead letters when they come, by name, with the reason.
    var condemned: [String: String] = [:]
    /// The input that blocks the partition's log.
    var failing: FailingInput?
    /// The time of the first batch that the database refused, perhaps by its own fault; nil after a success.
    var refusedSince: ContinuousClock.Instant?
    /// The last time that a batch wrote events.
    var lastDataCommit = ContinuousClock.now
    /// The input that is recorded as tried. It is recorded once, even if its commit needs several attempts.
    var noted: String?
    var commandGuard = CommandGuard()
    /// The current outage and the last key that was notified of it under this lease.
    var told: (outage: Outage, key: String)?

    /// Unreadable states of an older machine, with their number of events at the failed upgrade.
    var unreadable: [AggregateKey: Int] = [:]

    // The known state of the partition.

    /// Valid while the cursor row still names `lastBatch`.
    let cache: StateCache<M>
    private let budget: StateBudget
    /// The slot reservations under the machine's ceiling; nil if unknown.
    var held: SlotAllocator?
    /// A ledger without reservations.
    let unheld: SlotAllocator
    var lastBatch: UUID?
    /// The earliest known deadline.
    var nextDue: Instant? {
        didSet { due.store(nextDue?.milliseconds ?? .max, ordering: .relaxed) }
    }
    /// ``nextDue`` for the 10 ms tick, which must not wait for the actor.
    private nonisolated let due = Atomic<Int64>(.max)
    var hasParkedKeys = false
    /// Whether the last query reached the database.
    var isReachable = true

    init(
        partition: Int, of partitions: Int, pool: ConnectionPool, clock: SharedClock, policy: M.Policy,
        wakeUps: WakeUpSender, trials: AsyncSemaphore, semaphore: AsyncSemaphore, budget: StateBudget, logger: Logger
    ) {
        self.partition = partition
        self.budget = budget
        cache = StateCache(budget)
        unheld = SlotAllocator(ceiling: M.ceiling(policy), partition: partition, partitions: partitions)
        self.pool = pool
        self.clock = clock
        self.policy = policy
        self.wakeUps = wakeUps
        self.trials = trials
        self.semaphore = semaphore
        self.logger = logger
        progress = PartitionProgress(partition: partition)
        statements = Statements(service: M.name)
    }

    var state: PartitionState {
        if let halt { return .halted(halt) }
        guard lease != nil else { return .elsewhere }
        if let reason = progress.failure { return .failing(reason) }
        return caution > 0 ? .cautious : .following
    }

    /// Queues a command and waits until it is committed or refused. A command that is cancelled before a batch takes it
    /// does not run.
    nonisolated func submit(_ submission: Submission<M>) async throws -> Answer {
        try await queue.submit(submission) { signal.continuation.yield() }
    }

    /// Refuses the commands that have waited too long, even while a batch does not end.
    nonisolated func refuseStale(at now: ContinuousClock.Instant) {
        queue.refuse(before: now - Self.queuePatience)
    }

    /// Starts a batch that reads the log and the deadlines.
    func wake() {
        guard lease != nil, halt == nil, noLookBefore <= .now else { return }
        lookAtLog = true
        signal.continuation.yield()
    }

    /// Reads the log now, or at the next ``glanceInterval`` if the machine follows none of the new events and the last
    /// look was recent.
    func hear(isOfInterest: Bool) {
        guard isOfInterest || lastLook + Self.glanceInterval <= .now else {
            return isToPassOver.store(true, ordering: .relaxed)
        }
        wake()
    }

    /// Returns whether there are events to skip, and resets the flag. The tick calls it at each ``glanceInterval``,
    /// then wakes the worker.
    nonisolated func isToGlance() -> Bool { isToPassOver.exchange(false, ordering: .relaxed) }

    /// Returns whether the earliest known deadline has come.
    nonisolated func isDue(at now: Instant) -> Bool { due.load(ordering: .relaxed) <= now.milliseconds }

    /// Reports the result of the poll: whether the cursor is behind the head, and the earliest stored deadline. Another
    /// replica may have written it.
    func note(isBehind: Bool, nextDeadline: Instant?) {
        if !isBehind || lease == nil { progress.idle() }
        guard lease != nil else {
            nextDue = nil
            return
        }
        if let nextDeadline, nextDue.map({ nextDeadline < $0 }) ?? true { nextDue = nextDeadline }
        if isBehind { wake() }
    }

    /// - Parameter isSuspicious: whether two owners in a row lost the lease without a release, and the second one never
    ///   read to the head. Then an input may have ended them, and quarantine begins. One lost owner may have been
    ///   killed.
    func hold(owner: UUID, epoch: Int, isSuspicious: Bool) {
        guard lease?.epoch != epoch else { return }
        lease = (owner, epoch)
        caution = isSuspicious ? Self.trialLimit : 0
        condemned.removeAll()
        failing = nil
        noted = nil
        told = nil
        wake()
    }

    func leaseLost() {
        lease = nil
        failing = nil
    }

    /// Runs until ``stop()``, then finishes the waiting commands.
    func run() async {
        var iterator = signal.stream.makeAsyncIterator()
        while await iterator.next() != nil {
            while hasWork {
                await semaphore.take()
                holdsTurn = true
                if let plan = nextPortion() { await batch(plan) }
                passTurn()
            }
            if isStopping, queue.isEmpty { break }
        }
        // Also after a cancellation, because no batch would answer new commands.
        stop()
        for waiting in queue.take(.max) { waiting.caller.resume(throwing: RuntimeError.stopping) }
    }

    func stop() {
        isStopping = true
        queue.close()
        signal.continuation.yield()
    }
}

/// The inputs that a batch may take.
struct BatchPlan {
    var commands: Int
    /// The most events, and the most aggregates with deadlines; nil for none.
    var log: Int?
    /// Whether its only input is recorded before it is tried.
    var isTrial = false
    /// The input from the log that becomes a dead letter if another input in the same batch succeeds.
    var passing: FailingInput?
}

extension PartitionWorker {
    private var takesLog: Bool { lookAtLog && lease != nil && halt == nil && !isStopping }
    /// Whether the next batch reads the log.
    var isAboutToRead: Bool { takesLog }
    private var hasWork: Bool { takesLog || !queue.isEmpty }

    /// Returns the turn, at the end of a batch or as soon as the batch must wait.
    func passTurn() {
        guard holdsTurn else { return }
        holdsTurn = false
        semaphore.pass()
    }

    /// Normally all inputs up to the limits. During bisection and quarantine, the log and the commands alternate, in
    /// small batches.
    private func nextPortion() -> BatchPlan? {
        guard hasWork else { return nil }
        let isFailing = failing != nil && caution == 0
        guard window != .max || caution > 0 || isFailing else {
            return BatchPlan(commands: Self.batchLimit, log: takesLog ? Self.inputLimit : nil)
        }
        let limit = caution > 0 ? 1 : window
        logHadItsTurn = takesLog && (queue.isEmpty || !logHadItsTurn)
        guard logHadItsTurn else { return BatchPlan(commands: min(limit, Self.batchLimit), log: nil) }
        if isFailing, let failing {
            return failing.isToBePassed
                ? BatchPlan(commands: 0, log: failing.width + 1, passing: failing) : BatchPlan(commands: 0, log: 1)
        }
        return BatchPlan(commands: 0, log: min(limit, Self.inputLimit), isTrial: caution > 0)
    }

    /// Takes commands for one batch: those before the first suspect, or one suspect alone.
    private func take(_ count: Int) -> [Waiting] {
        guard !commandGuard.suspects.isEmpty else { return queue.take(count) }
        return queue.take(count) { isSuspect($0) }
    }

    private func batch(_ plan: BatchPlan) async {
        let waiting = take(plan.commands)
        var plan = plan
        let isSuspicious = waiting.count == 1 && isSuspect(waiting[0].submission)
        // A suspect runs alone, without inputs from the log.
        if isSuspicious { plan.log = nil }
        let isTrial = plan.isTrial || isSuspicious
        if plan.log != nil {
            lookAtLog = false
            lastLook = .now
            isToPassOver.store(false, ordering: .relaxed)
        }
        if isTrial {
            // Trials run one at a time. A waiting one must not hold a turn.
            passTurn()
            await trials.take()
        }
        do {
            let done = try await commit(waiting.map { $0.submission }, plan)
            isReachable = true
            if window == .max, failing == nil { refusedSince = nil }
            noteCommitted(done, plan)
            if window != .max { window = window > Self.batchLimit ? .max : window * 2 }
            take(done, plan)
            answer(waiting, done)
            if !done.batch.stale.isEmpty { await upgradeBetweenBatches(Array(done.batch.stale.values)) }
        } catch let bad as BadInput {
            forget()
            narrow(to: bad, waiting, plan)
        } catch is NoProof {
            forget()
            failing?.failedAgain(passing: true)
            noLookBefore = .now + Self.pauseAfterFailure
        } catch {
            forget()
            // The failure of a batch with only commands does not block the log.
            if plan.log != nil { noteFailure(error) }
            let truth = (error as? RuntimeError) ?? .databaseUnavailable
            // Logged as an error once for each outage of the database.
            logger.log(
                level: isReachable ? .error : .debug, "failed to run batch",
                error: error, metadata: [LogKey.partition: "\(partition)"])
            isReachable = false
            // The inputs are still in the log. The poll looks again.
            if plan.log != nil { noLookBefore = .now + Self.pauseAfterFailure }
            for one in waiting { one.caller.resume(throwing: truth) }
        }
        if isTrial { trials.pass() }
        budget.trim()
    }

    private func answer(_ waiting: [Waiting], _ done: BatchOutcome) {
        var later: [Waiting] = []
        for (one, verdict) in zip(waiting, done.batch.verdicts) {
            func reply(_ body: [UInt8], offset: Int, isReplay: Bool) {
                one.caller.resume(
                    returning: Answer(body: body, partition: partition, offset: offset, isReplay: isReplay))
            }
            switch verdict {
            case .answer(let body, let events):
                // The offset of its own last event, not that of the batch.
                reply(body, offset: done.head - (done.batch.events.count - events), isReplay: false)
            case .replay(let body): reply(body, offset: done.head, isReplay: true)
            case .refused(let error): one.caller.resume(throwing: error)
            case .later: later.append(one)
            }
        }
        queue.putBack(later)
    }

    /// Adopts the results of a batch. The cache is valid only if the next batch finds this batch's id in the cursor
    /// row.
    private func take(_ done: BatchOutcome, _ plan: BatchPlan) {
        var sizes = done.batch.sizes
        for (key, change) in done.batch.changed { sizes[key] = change.binary.count }
        cache.giveBack(done.batch.aggregates, sizes: sizes)
        held = done.batch.slots
        if let over = done.batch.over, !done.batch.slots.changed.isEmpty { held?.drop(before: over) }
        held?.forgetChanges()
        lastBatch = done.lastBatch
        if plan.log != nil {
            if done.hasMore { lookAtLog = true }
            if plan.isTrial {
                noted = nil
                caution = done.foundNothing ? 0 : max(0, caution - 1)
            }
            if caution > 0 { lookAtLog = true }
            if let reason = done.halt, halt == nil {
                halt = reason
                logger.error(
                    "log needs a newer program, partition halted",
                    metadata: [LogKey.partition: "\(partition)", LogKey.reason: "\(reason)"])
            }
        }
        for one in done.batch.setAside {
            condemned[one.due.map { Batch<M>.name(of: one.key, due: $0) } ?? Batch<M>.name(ofEventAt: one.offset)] = nil
            guard let reason = one.reason else { continue }
            logger.error(
                "set input aside, parked its device",
                metadata: [
                    LogKey.partition: "\(partition)", LogKey.aggregate: "\(one.key)", LogKey.offset: "\(one.offset)",
                    LogKey.reason: "\(reason)",
                ])
        }
        for key in done.batch.changed.keys {
            if let due = done.batch.aggregates[key]?.nextDeadline {
                nextDue = nextDue.map { min($0, due) } ?? due
            }
        }
        if !done.batch.events.isEmpty { wakeUps.wakeUp(partition, types: done.batch.events.lazy.map(\.type)) }
    }

    /// Handles refused data: the next batch takes half as many inputs, down to the one at fault.
    private func narrow(to bad: BadInput, _ waiting: [Waiting], _ plan: BatchPlan) {
        if !bad.isProven {
            if plan.log != nil { noteFailure(bad.error) }
            refusedSince = refusedSince ?? .now
        }
        // Logged as an error once for each input that blocks the log.
        logger.log(
            level: failing == nil ? .error : .debug, "database refused data of batch",
            error: bad.error, metadata: [LogKey.partition: "\(partition)", LogKey.inputs: "\(bad.inputs)"])
        if plan.log != nil { lookAtLog = true }
        if plan.log == nil, waiting.count == 1 {
            let isItsFault = bad.isProven || refusedSince.map { lastDataCommit > $0 } ?? true
            return waiting[0].caller.resume(throwing: isItsFault ? RuntimeError.failed : .databaseUnavailable)
        }
        queue.putBack(waiting)
        if let passed = plan.passing {
            failing?.failedAgain(passing: true, wasRefused: true)
            progress.failed(.failing("\(passed.name): \(passed.reason)"))
            lookAtLog = false
            return noLookBefore = .now + Self.pauseAfterFailure
        }
        guard plan.commands == 0, bad.inputs <= 1 else { return window = max(1, bad.inputs / 2) }
        if let name = bad.name {
            notePinned(name, "\(bad.error)", isProven: bad.isProven)
            guard failing != nil else { return }
            // Inputs behind it are not at fault.
            window = .max
            lookAtLog = false
            noLookBefore = .now + Self.pauseAfterFailure
        } else {
            // The batch names no input, so the one at fault is unknown. The poll looks again.
            lookAtLog = false
            noLookBefore = .now + Self.pauseAfterFailure
        }
    }

    /// Drops everything that is cached about the partition.
    func forget() {
        lastBatch = nil
        cache.drop()
        held = nil
    }
}
