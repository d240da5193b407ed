import Contracts
import EventLog
import Foundation
import Logging
import Machines
import Postgres
import Synchronization
import Telemetry
import Timeline

/// Runs the batches of all partitions of a process.
///
/// The decisions are those of ``PartitionMachine``, which is pure. The engine executes its actions. Healthy partitions
/// with work share a transaction: small and large batches cost about the same. A partition in bisection, in
/// quarantine or after a failure runs alone, so that its fault touches no other partition.
actor BatchEngine<M: Machine> {
    typealias Machine = PartitionMachine<M>
    typealias Step = (partition: Int, action: Machine.Action)

    /// The limits of shared transactions.
    struct Limits: Sendable {
        /// The most shared transactions at a time. Meanwhile inputs gather. With one, a transaction that waits for a lock
        /// would hold up all partitions.
        var transactions = 2
        /// The most partitions of a transaction.
        var partitions = Int.max
        /// The most commands of a transaction.
        var commands = 1000

        init() {}

        /// The limits for a placement. On Citus a transaction has partitions of one shard only, so more of them run at a
        /// time. One connection stays for other queries.
        ///
        /// - Parameter connections: the size of the pool.
        init(_ placement: LogPlacement, connections: Int) {
            if placement.isDistributed { transactions = max(transactions, connections - 1) }
        }
    }

    nonisolated let inboxes: [PartitionInbox<M>]
    nonisolated let deadlineAlarm = DeadlineAlarm()
    let pool: ConnectionPool
    let clock: SharedClock
    let policy: M.Policy
    let wakeUps: WakeUpSender
    let statements: Statements
    /// The partitions that may share a transaction.
    nonisolated let placement: Mutex<LogPlacement>
    let logger: Logger
    nonisolated let meter: CommitMeter
    let tracer: Tracer?
    var machines: [Machine]
    let limits: Limits
    /// The interval between two transactions that read the log without commands.
    nonisolated let pace = FollowerPace()
    private nonisolated let processorWait = ProcessorWait()
    private let budget: StateBudget
    private nonisolated let signal = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
    /// The callers of the commands in the current batch of each partition.
    var callers: [[CommandQueue<M>.Waiting]]
    var isBusy: [Bool]
    /// Steps that continue outside of a shared transaction.
    var resumptions: [Step] = []
    var sharedTransactions = 0
    /// One at a time, so that partitions in trouble leave connections to the others.
    private let aloneTurns = AsyncSemaphore(1)
    /// One trial at a time in a process. So when an input ends the process, no other input is recorded as tried.
    private let trials = AsyncSemaphore(1)
    /// The start of the last shared transaction with a partition that had no commands, by shard.
    var lastLooks: [Int: ContinuousClock.Instant] = [:]
    /// The partition that comes first, so that low numbers do not displace others from full transactions.
    var firstPartition = 0
    var isAlarmSet = false
    private(set) var isStopping = false
    /// The lost events for which it has stopped; nil without any.
    private(set) var loss: EventsLost?

    init(
        partitions: Int, pool: ConnectionPool, clock: SharedClock, policy: M.Policy, wakeUps: WakeUpSender,
        budget: StateBudget, limits: Limits = Limits(), placement: LogPlacement = .oneDatabase,
        metrics: Metrics = Metrics(), tracer: Tracer? = nil, logger: Logger
    ) {
        self.pool = pool
        self.clock = clock
        self.policy = policy
        self.wakeUps = wakeUps
        self.budget = budget
        self.limits = limits
        self.placement = Mutex(placement)
        statements = Statements(service: M.name, isDistributed: placement.isDistributed)
        self.logger = logger
        meter = CommitMeter(metrics)
        self.tracer = tracer
        let now = ContinuousClock.now
        inboxes = (0..<partitions).map { [deadlineAlarm] in
            PartitionInbox(partition: $0, budget: budget, alarm: deadlineAlarm)
        }
        machines = (0..<partitions).map { PartitionMachine(partition: $0, of: partitions, policy: policy, now: now) }
        callers = Array(repeating: [], count: partitions)
        isBusy = Array(repeating: false, count: partitions)
    }

    nonisolated func inbox(of key: AggregateKey) -> PartitionInbox<M> { inboxes[key.partition(of: inboxes.count)] }

    /// Queues a command and waits until it is committed or refused. A command that is cancelled before a batch takes it
    /// does not run.
    nonisolated func submit(_ submission: Submission<M>) async throws -> Answer {
        try await inbox(of: submission.key).queue.submit(submission) { wake() }
    }

    /// Starts the batches of partitions with work.
    nonisolated func wake() { signal.continuation.yield() }

    /// Makes a partition read the log and the deadlines.
    nonisolated func look(_ partition: Int) {
        inboxes[partition].look()
        wake()
    }

    /// Makes partitions read the log to its head at once, because a request or a clock advance waits for it.
    nonisolated func hurry(_ partitions: some Sequence<Int>, for time: Duration) {
        pace.hurry(at: .now, for: time)
        for partition in partitions { inboxes[partition].look() }
        wake()
    }

    /// Runs until ``stop()``, then finishes the waiting commands.
    func run() async {
        await withDiscardingTaskGroup { tasks in
            for await _ in signal.stream {
                start(&tasks)
                if isStopping, isFinished { break }
            }
            // Also after a cancellation, because no batch would answer new commands.
            stop()
        }
        // A cancellation may have left batches in the middle. They end without a pause.
        for step in resumptions { await runAlone(step, isTrial: false) }
        resumptions = []
        for waiting in inboxes.flatMap({ $0.queue.take(.max) }) {
            waiting.caller.resume(throwing: refusal)
        }
    }

    /// The refusal of the commands that come after the stop.
    private var refusal: RuntimeError { loss == nil ? .stopping : .eventsLost }

    func stop() {
        isStopping = true
        for partition in machines.indices { machines[partition].isStopping = true }
        for inbox in inboxes { inbox.queue.close(refusal) }
        wake()
    }

    private var isFinished: Bool {
        !isBusy.contains(true) && resumptions.isEmpty && inboxes.allSatisfy { $0.queue.isEmpty }
    }

    // MARK: Batches

    func runShared(_ steps: [Step], isPaced: Bool) async {
        let start = ContinuousClock.now
        let later = await transact(steps)
        if isPaced {
            let end = ContinuousClock.now
            pace.batchTook(start.duration(to: end), wait: processorWait.share(at: end))
        }
        sharedTransactions -= 1
        resumptions += later
        let waiting = Set(later.map { $0.partition })
        for step in steps where !waiting.contains(step.partition) { isBusy[step.partition] = false }
        budget.trim()
        wake()
    }

    func runAlone(_ step: Step, isTrial: Bool) async {
        if isTrial { await trials.take() }
        var next: Step? = step
        while let step = next {
            switch step.action {
            case .pause(let time): next = await pause(step.partition, time)
            case .settle(let request): next = handle(step.partition, .settled(await settle(request)))
            case .upgrade(let states):
                await upgradeBetweenBatches(states, of: step.partition)
                next = nil
            default:
                await aloneTurns.take()
                next = await transact([step]).first
                aloneTurns.pass()
            }
        }
        if isTrial { trials.pass() }
        isBusy[step.partition] = false
        budget.trim()
        wake()
    }

    private func pause(_ partition: Int, _ time: Duration) async -> Step? {
        do { if time > .zero { try await Task.sleep(for: time) } } catch {
            return handle(partition, .failed(error, isShared: false))
        }
        return handle(partition, .resumed)
    }

    /// Passes an event to a partition's machine, and executes the effects.
    ///
    /// - Returns: the next step; nil at the end of the batch.
    func handle(_ partition: Int, _ event: Machine.Event) -> Step? {
        let inbox = inboxes[partition]
        let actions = inbox.progress.deciding { machines[partition].handle(event, now: .now) }
        inbox.set(nextDue: machines[partition].nextDue)
        inbox.set(isUnreachable: machines[partition].unreachableSince != nil)
        var step: Step?
        for action in actions {
            if action.isStep { step = (partition, action) } else { execute(action, partition) }
        }
        return step
    }

    private func execute(_ action: Machine.Action, _ partition: Int) {
        let inbox = inboxes[partition]
        switch action {
        case .answer(let results, let head, let events): answer(partition, results, head: head, events: events)
        case .failAll(let error):
            for one in callers[partition] { one.caller.resume(throwing: error) }
            callers[partition] = []
        case .putBack:
            inbox.queue.putBack(callers[partition])
            callers[partition] = []
        case .forget: inbox.cache.drop()
        case .adopt(let aggregates, let sizes): inbox.cache.store(aggregates, sizes: sizes)
        case .wakeUp(let types): wakeUps.wakeUp(partition, types: types)
        case .progress(.succeeded(let withData)): inbox.progress.succeeded(withData: withData)
        case .progress(.failed(let cause)): inbox.progress.failed(cause)
        case .progress(.halted(let reason)): inbox.progress.halted(reason)
        case .eventsLost(let error):
            guard loss == nil else { break }
            loss = error
            logger.critical("found events lost, stopped all batches", metadata: [LogKey.error: "\(error)"])
            stop()
        case .log(let level, let message, let metadata):
            var metadata = metadata.mapValues { Logger.MetadataValue.string($0) }
            metadata[LogKey.partition] = "\(partition)"
            logger.log(level: level, "\(message)", metadata: metadata)
        case .gather, .findSuspects, .recordCommands, .recordTrial, .readUnread, .commit, .settle, .pause, .upgrade:
            break
        }
    }

    private func answer(_ partition: Int, _ results: [CommandResult], head: Int, events: Int) {
        var later: [CommandQueue<M>.Waiting] = []
        for (one, result) in zip(callers[partition], results) {
            func reply(_ body: [UInt8], offset: Int, isReplay: Bool) {
                one.caller.resume(
                    returning: Answer(body: body, partition: partition, offset: offset, isReplay: isReplay))
            }
            switch result {
            // The offset of its own last event, not that of the batch.
            case .answer(let body, let count): reply(body, offset: head - (events - count), isReplay: false)
            case .replay(let body): reply(body, offset: head, isReplay: true)
            case .refused(let error): one.caller.resume(throwing: error)
            case .later: later.append(one)
            }
        }
        callers[partition] = []
        inboxes[partition].queue.putBack(later)
    }
}
