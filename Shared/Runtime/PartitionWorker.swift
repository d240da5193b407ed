import Contracts
import EventLog
import Foundation
import Logging
import Machines
import OrderedCollections
import Postgres
import Synchronization
import Timeline

/// Runs one service's machine on one partition, batch after batch. While a batch commits, the next one gathers.
actor PartitionWorker<M: Machine> {
    /// The commands of one batch may wait; more are refused as overloaded. One stuck partition leaves half of a process's
    /// request slots to the others.
    static var queueLimit: Int { batchLimit }
    /// A command waits no longer than that for its batch; then it is refused as overloaded.
    static var queuePatience: Duration { .seconds(5) }
    static var batchLimit: Int { 500 }
    static var inputLimit: Int { 200 }
    /// So many inputs are tried one by one after an owner died: more than the batch that ended it can have held.
    static var trialLimit: Int { 2 * inputLimit + 100 }
    /// No look at the log for so long after one that failed; the poll comes back to it.
    static var pauseAfterFailure: Duration { .milliseconds(250) }

    /// What this machine does not follow is passed over at most so often: each look is a transaction.
    static var glanceInterval: Duration { .milliseconds(100) }

    /// Decisions lag less than that behind the clock, or their moments are not kept apart from former ones.
    static var momentsKept: Interval { .days(1) }

    typealias Waiting = Inbox<M>.Waiting

    let partition: Int
    let pool: ConnectionPool
    let clock: SharedClock
    let policy: M.Policy
    let hints: HintSender
    /// One trial at a time in a process, so that when an input ends the process no innocent one is under note.
    let trials: Turns
    /// Not more batches at a time than there are connections. Who waits takes what has come meanwhile: batches grow with the
    /// load, and cost less for each input.
    private let turns: Turns
    private var holdsTurn = false
    let statements: Statements
    let logger: Logger
    /// The partition's progress, for other threads.
    nonisolated let progress: PartitionProgress
    private let signal = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
    private let inbox = Inbox<M>(limit: PartitionWorker.queueLimit)
    private(set) var isStopping = false
    private var lookAtLog = false
    private var noLookBefore = ContinuousClock.now
    private var lastLook = ContinuousClock.now - .seconds(1)
    /// There is news that this machine does not follow.
    private nonisolated let isToPassOver = Atomic(false)
    /// The lease under which events and deadlines are taken; nil while another replica holds it.
    private(set) var lease: (owner: UUID, epoch: Int)?
    /// Why this process can't go on with the partition's log, until it is updated.
    private(set) var halt: String? {
        didSet { if let halt { progress.halted(halt) } }
    }

    // How a batch is put together while something is wrong.

    /// How many inputs a batch may hold: halved while batches fail, until the one at fault stands alone.
    private var window = Int.max
    /// How many inputs are still to be tried one by one.
    private var caution = 0
    private var logHadItsTurn = false
    /// Inputs to set aside when they come, by name, with the reason.
    var condemned: [String: String] = [:]
    /// The input that blocks the partition's log.
    var failing: FailingInput?
    /// The first time that the database refused a batch, perhaps by its own fault; nil after a success.
    var refusedSince: ContinuousClock.Instant?
    /// The last time that a batch wrote the result of an input.
    var lastDataCommit = ContinuousClock.now
    /// The input that is noted as tried now. Noted once for all that this process does to get it committed.
    var noted: String?
    var commandGuard = CommandGuard()
    /// Of which outage how far, by key, aggregates were told under this lease.
    var told: (outage: Outage, key: String)?

    /// Unreadable states of an older machine, with their number of events at the failed upgrade.
    var unreadable: [AggregateKey: Int] = [:]

    // What is known of the partition.

    /// Valid while the cursor row still names `lastBatch`.
    let cache: StateCache<M>
    private let budget: StateBudget
    /// What its aggregates hold under the machine's ceiling; nil where that is not known.
    var held: MomentLedger?
    /// The ledger in which nothing is held.
    let unheld: MomentLedger
    var lastBatch: UUID?
    /// The earliest deadline known here.
    var nextDue: Instant? {
        didSet { due.store(nextDue?.milliseconds ?? .max, ordering: .relaxed) }
    }
    /// ``nextDue`` for the clock's tick, which comes too often to visit every worker.
    private nonisolated let due = Atomic<Int64>(.max)
    var hasParkedKeys = false
    /// Whether the database answered when it was last asked.
    var isReachable = true

    init(
        partition: Int, of partitions: Int, pool: ConnectionPool, clock: SharedClock, policy: M.Policy,
        hints: HintSender, trials: Turns, turns: Turns, budget: StateBudget, logger: Logger
    ) {
        self.partition = partition
        self.budget = budget
        cache = StateCache(budget)
        unheld = MomentLedger(ceiling: M.ceiling(policy), partition: partition, partitions: partitions)
        self.pool = pool
        self.clock = clock
        self.policy = policy
        self.hints = hints
        self.trials = trials
        self.turns = turns
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

    /// Queues a command and waits until it is committed or refused. Cancelled before a batch took it, it is not run.
    nonisolated func submit(_ submission: Submission<M>) async throws -> Answer {
        try await inbox.submit(submission) { signal.continuation.yield() }
    }

    /// Refuses the commands that have waited too long, even while a batch does not end.
    nonisolated func refuseStale(at now: ContinuousClock.Instant) {
        inbox.refuse(before: now - Self.queuePatience)
    }

    /// Looks at the log and the deadlines in the next batch, which comes now.
    func wake() {
        guard lease != nil, halt == nil, noLookBefore <= .now else { return }
        lookAtLog = true
        signal.continuation.yield()
    }

    /// Looks now, or where the news is of nothing that the machine follows and the last look was only just, at the next
    /// turn of ``glanceInterval``.
    func hear(isOfInterest: Bool) {
        guard isOfInterest || lastLook + Self.glanceInterval <= .now else {
            return isToPassOver.store(true, ordering: .relaxed)
        }
        wake()
    }

    /// Whether there is something to pass over. Asked every ``glanceInterval``; whoever asks wakes.
    nonisolated func isToGlance() -> Bool { isToPassOver.exchange(false, ordering: .relaxed) }

    /// Whether the earliest deadline known here has come.
    nonisolated func isDue(at now: Instant) -> Bool { due.load(ordering: .relaxed) <= now.milliseconds }

    /// What a look at all partitions found: events behind the cursor, and the earliest deadline stored, which another
    /// replica may have written.
    func note(isBehind: Bool, nextDeadline: Instant?) {
        if !isBehind || lease == nil { progress.idle() }
        guard lease != nil else {
            nextDue = nil
            return
        }
        if let nextDeadline, nextDue.map({ nextDeadline < $0 }) ?? true { nextDue = nextDeadline }
        if isBehind { wake() }
    }

    /// - Parameter isSuspicious: two owners in a row did not let go, and the second one never got to the head of the
    ///   log: an input may have ended them. One alone may have been killed, and is not worth the slowness of trials.
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

    func letGo() {
        lease = nil
        failing = nil
    }

    /// Runs until ``stop()``; then finishes what waits.
    func run() async {
        var iterator = signal.stream.makeAsyncIterator()
        while await iterator.next() != nil {
            while hasWork {
                await turns.take()
                holdsTurn = true
                if let portion = nextPortion() { await batch(portion) }
                passTurn()
            }
            if isStopping, inbox.isEmpty { break }
        }
        // Also where the task was cancelled: nobody would answer those who come now.
        stop()
        for waiting in inbox.take(.max) { waiting.caller.resume(throwing: RuntimeError.stopping) }
    }

    func stop() {
        isStopping = true
        inbox.close()
        signal.continuation.yield()
    }
}

/// What a batch may take.
struct Portion {
    var commands: Int
    /// At most so many events, and so many deadlines; nil for none.
    var log: Int?
    /// Its one input is tried under note.
    var isTrial = false
    /// The input from the log that the worker sets aside if another input in the same batch succeeds.
    var passing: FailingInput?
}

extension PartitionWorker {
    private var takesLog: Bool { lookAtLog && lease != nil && halt == nil && !isStopping }
    /// Whether the next batch reads the log.
    var isAboutToRead: Bool { takesLog }
    private var hasWork: Bool { takesLog || !inbox.isEmpty }

    /// At the end of a batch, or as soon as it turns out that it takes longer.
    func passTurn() {
        guard holdsTurn else { return }
        holdsTurn = false
        turns.pass()
    }

    /// All there is, where all is well. While something is wrong the log and the commands take turns, and each batch is
    /// small.
    private func nextPortion() -> Portion? {
        guard hasWork else { return nil }
        let isFailing = failing != nil && caution == 0
        guard window != .max || caution > 0 || isFailing else {
            return Portion(commands: Self.batchLimit, log: takesLog ? Self.inputLimit : nil)
        }
        let limit = caution > 0 ? 1 : window
        logHadItsTurn = takesLog && (inbox.isEmpty || !logHadItsTurn)
        guard logHadItsTurn else { return Portion(commands: min(limit, Self.batchLimit), log: nil) }
        if isFailing, let failing {
            return failing.isToBePassed
                ? Portion(commands: 0, log: failing.width + 1, passing: failing) : Portion(commands: 0, log: 1)
        }
        return Portion(commands: 0, log: min(limit, Self.inputLimit), isTrial: caution > 0)
    }

    /// The commands that are to be run together: those before the first suspect, or that one alone.
    private func take(_ count: Int) -> [Waiting] {
        guard !commandGuard.suspects.isEmpty else { return inbox.take(count) }
        return inbox.take(count) { isSuspect($0) }
    }

    private func batch(_ portion: Portion) async {
        let waiting = take(portion.commands)
        var portion = portion
        let isSuspicious = waiting.count == 1 && isSuspect(waiting[0].submission)
        // Alone: nothing of the log with it.
        if isSuspicious { portion.log = nil }
        let isTrial = portion.isTrial || isSuspicious
        if portion.log != nil {
            lookAtLog = false
            lastLook = .now
            isToPassOver.store(false, ordering: .relaxed)
        }
        if isTrial {
            // Trials go one by one; those that wait for theirs hold nobody up.
            passTurn()
            await trials.take()
        }
        do {
            let done = try await commit(waiting.map { $0.submission }, portion)
            isReachable = true
            if window == .max, failing == nil { refusedSince = nil }
            noteCommitted(done, portion)
            if window != .max { window = window > Self.batchLimit ? .max : window * 2 }
            take(done, portion)
            answer(waiting, done)
            if !done.batch.stale.isEmpty { await upgradeBetweenBatches(Array(done.batch.stale.values)) }
        } catch let bad as BadInput {
            forget()
            narrow(to: bad, waiting, portion)
        } catch is NoProof {
            forget()
            failing?.failedAgain(passing: true)
            noLookBefore = .now + Self.pauseAfterFailure
        } catch {
            forget()
            // A command that fails by itself holds nothing up.
            if portion.log != nil { noteFailure(error) }
            let truth = (error as? RuntimeError) ?? .databaseUnavailable
            // Said once, not for every batch of an outage.
            logger.log(
                level: isReachable ? .error : .debug, "a batch failed",
                metadata: ["partition": "\(partition)", "error": "\(error)"])
            isReachable = false
            // Its inputs are still in the log: the poll looks again.
            if portion.log != nil { noLookBefore = .now + Self.pauseAfterFailure }
            for one in waiting { one.caller.resume(throwing: truth) }
        }
        if isTrial { trials.pass() }
        budget.trim()
    }

    private func answer(_ waiting: [Waiting], _ done: Done) {
        var later: [Waiting] = []
        for (one, verdict) in zip(waiting, done.batch.verdicts) {
            func reply(_ body: [UInt8], offset: Int, isReplay: Bool) {
                one.caller.resume(
                    returning: Answer(body: body, partition: partition, offset: offset, isReplay: isReplay))
            }
            switch verdict {
            case .answer(let body, let events):
                // Its own place, not that of whatever the batch did after it.
                reply(body, offset: done.head - (done.batch.events.count - events), isReplay: false)
            case .replay(let body): reply(body, offset: done.head, isReplay: true)
            case .refused(let error): one.caller.resume(throwing: error)
            case .later: later.append(one)
            }
        }
        inbox.putBack(later)
    }

    /// Takes in what a batch has left behind. The cache is valid if, and only if, the next batch finds this one's id in
    /// the cursor row.
    private func take(_ done: Done, _ portion: Portion) {
        var sizes = done.batch.sizes
        for (key, change) in done.batch.changed { sizes[key] = change.binary.count }
        cache.giveBack(done.batch.aggregates, sizes: sizes)
        held = done.batch.moments
        if let over = done.batch.over, !done.batch.moments.changed.isEmpty { held?.drop(before: over) }
        held?.forgetChanges()
        lastBatch = done.lastBatch
        if portion.log != nil {
            if done.hasMore { lookAtLog = true }
            if portion.isTrial {
                noted = nil
                caution = done.foundNothing ? 0 : max(0, caution - 1)
            }
            if caution > 0 { lookAtLog = true }
            if let reason = done.halt, halt == nil {
                halt = reason
                logger.error(
                    "the log goes beyond this program; the partition waits for its update",
                    metadata: ["partition": "\(partition)", "reason": "\(reason)"])
            }
        }
        for one in done.batch.setAside {
            condemned[one.due.map { Batch<M>.name(of: one.key, due: $0) } ?? Batch<M>.name(ofEventAt: one.offset)] = nil
            guard let reason = one.reason else { continue }
            logger.error(
                "an input was set aside and its device parked",
                metadata: [
                    "partition": "\(partition)", "aggregate": "\(one.key)", "offset": "\(one.offset)",
                    "reason": "\(reason)",
                ])
        }
        for key in done.batch.changed.keys {
            if let due = done.batch.aggregates[key]?.nextDeadline {
                nextDue = nextDue.map { min($0, due) } ?? due
            }
        }
        if !done.batch.events.isEmpty { hints.hint(partition, types: done.batch.events.lazy.map(\.type)) }
    }

    /// The database refused what the inputs led to: half of them next time, down to the one at fault.
    private func narrow(to bad: BadInput, _ waiting: [Waiting], _ portion: Portion) {
        if !bad.isProven {
            if portion.log != nil { noteFailure(bad.error) }
            refusedSince = refusedSince ?? .now
        }
        // Logged once for each input that blocks the log.
        logger.log(
            level: failing == nil ? .error : .debug, "the database refused what a batch's inputs led to",
            metadata: ["partition": "\(partition)", "inputs": "\(bad.inputs)", "error": "\(bad.error)"])
        if portion.log != nil { lookAtLog = true }
        if portion.log == nil, waiting.count == 1 {
            let isItsFault = bad.isProven || refusedSince.map { lastDataCommit > $0 } ?? true
            return waiting[0].caller.resume(throwing: isItsFault ? RuntimeError.failed : .databaseUnavailable)
        }
        inbox.putBack(waiting)
        if let passed = portion.passing {
            failing?.failedAgain(passing: true, wasRefused: true)
            progress.failed(.failing("\(passed.name): \(passed.reason)"))
            lookAtLog = false
            return noLookBefore = .now + Self.pauseAfterFailure
        }
        guard portion.commands == 0, bad.inputs <= 1 else { return window = max(1, bad.inputs / 2) }
        if let name = bad.name {
            notePinned(name, "\(bad.error)", isProven: bad.isProven)
            guard failing != nil else { return }
            // Inputs behind it are not at fault.
            window = .max
            lookAtLog = false
            noLookBefore = .now + Self.pauseAfterFailure
        } else {
            // No input was named, so it can't be told which: as with any other failure, the poll looks again.
            lookAtLog = false
            noLookBefore = .now + Self.pauseAfterFailure
        }
    }

    /// Nothing of the partition is known for certain any more.
    func forget() {
        lastBatch = nil
        cache.drop()
        held = nil
    }
}
