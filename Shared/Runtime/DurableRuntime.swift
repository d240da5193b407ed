public import Contracts
public import EventLog
import Foundation
public import Logging
public import Machines
public import Postgres
public import ServiceLifecycle
public import Telemetry
import Timeline
import Records
import Synchronization

/// Runs a service's machine on the log: commands, events of other services and deadlines, each exactly once.
///
/// Several processes may run the same machine. They share the partitions by leases, and the locks of the cursor rows
/// keep their batches apart.
public final class DurableRuntime<M: Machine>: Service {
    let engine: BatchEngine<M>
    private let leases: LeaseKeeper<M>
    private let wakeUps: WakeUpSender
    /// The receiver of wake-ups. The runtime runs it, and other readers of the log in this process share it.
    public let updates: WakeUpReceiver
    let pool: ConnectionPool
    private let cursors: CursorWatch
    let clock: SharedClock
    private let watchdog: Watchdog
    private let blockers: BlockerWatch
    let standing: Statement
    let sweeper: StateSweeper<M>
    let budget: StateBudget
    let settlingTime: Duration

    /// Creates a runtime. Run it as a service.
    ///
    /// - Parameters:
    ///   - options: the database, for the connections of the listener and of the leases.
    ///   - partitions: the log's number of partitions.
    ///   - cacheBytes: the approximate memory limit for cached states, over all partitions.
    ///   - limits: the longest stalls that the runtime tolerates.
    ///   - placement: the partitions that may share a transaction.
    ///   - metrics: gets the figures of commits.
    ///   - tracer: gets the spans of events; nil for none.
    public init(
        pool: ConnectionPool, options: ConnectionOptions, partitions: Int, clock: SharedClock, policy: M.Policy,
        cacheBytes: Int = 256 << 20, limits: StallLimits = StallLimits(), placement: LogPlacement = .oneDatabase,
        metrics: Metrics = Metrics(), tracer: Tracer? = nil, logger: Logger
    ) {
        let member = UUID()
        let wakeUps = WakeUpSender(pool: pool, sender: member, logger: logger)
        self.pool = pool
        self.clock = clock
        standing = Statements.standing(M.name)
        self.wakeUps = wakeUps
        updates = WakeUpReceiver(options, sender: wakeUps, logger: logger)
        let budget = StateBudget(cacheBytes)
        self.budget = budget
        settlingTime = limits.settling
        let engine = BatchEngine<M>(
            partitions: partitions, pool: pool, clock: clock, policy: policy, wakeUps: wakeUps, budget: budget,
            limits: .init(placement, connections: pool.metrics.size), placement: placement, metrics: metrics,
            tracer: tracer, logger: logger)
        self.engine = engine
        cursors = CursorWatch { partition in
            try await pool.execute(Statements.position, [.partition(partition), .text(M.name)], rowsExpected: 1)[0]
                .decode(Int.self)
        } hurry: {
            engine.hurry([$0], for: CursorWatch.pause * 2)
        }
        leases = LeaseKeeper(
            options, member: member, engine: engine, updatePatience: limits.update, logger: logger)
        sweeper = StateSweeper(pool: pool, leases: leases, clock: clock, logger: logger)
        let progress = engine.inboxes.map { $0.progress }
        blockers = BlockerWatch(
            pool: ConnectionPool(options, size: 1, logger: logger), patience: limits.blocker, progress: progress,
            logger: logger)
        let pools = [pool, leases.pool, blockers.pool]
        clock.follow { [alarm = engine.deadlineAlarm] in alarm.ring() }
        watchdog = Watchdog(limits, progress: progress, queries: { pools.flatMap { $0.callDeadlines } }, logger: logger)
        updates.follow { [engine] updates in
            switch updates {
            case .everything: for partition in engine.inboxes.indices { engine.look(partition) }
            case .wakeUp(let wakeUp) where !wakeUp.isOwn:
                // While a request or an advance waits, cursors move at once over other events, too.
                let isOfInterest =
                    wakeUp.types.map { !M.follows.isDisjoint(with: $0) } ?? true || engine.pace.isHurried(at: .now)
                for partition in wakeUp.partitions where engine.inboxes.indices.contains(partition) {
                    if engine.inboxes[partition].hear(isOfInterest: isOfInterest) { engine.wake() }
                }
            case .settling: engine.hurry(engine.inboxes.indices, for: FollowerPace.settlingTime)
            case .wakeUp, .clock: break
            }
        }
    }

    /// Submits a command and waits until it is committed.
    ///
    /// - Throws: the machine's refusal or ``RuntimeError``; nothing has changed, except after `outcomeUnknown`.
    ///   `CancellationError` if the caller was cancelled before a batch took the command.
    ///
    /// A refusal is final only after the service has read every event about the aggregate that was in the log when the
    /// command came. Until then the command waits, at most ``StallLimits/settling``. Then it throws `RuntimeError.behind`.
    ///
    /// - Parameter waiting: runs the part that waits. A caller with a request limit can free its slot meanwhile.
    public func submit(
        _ submission: Submission<M>,
        waiting: (@Sendable () async throws -> Answer) async throws -> Answer = { try await $0() }
    ) async throws -> Answer {
        do { return try await engine.submit(submission) } catch let early as EarlyRefusal {
            return try await waiting { try await self.submitAgain(submission, after: early) }
        }
    }

    /// The newest form of the stored states, if this program can't read it; nil if it can read all states.
    public var newerState: Int? {
        let newest = leases.membership.withLock { $0.newestState }
        return newest > M.version ? newest : nil
    }
    /// Whether a living member runs a newer machine.
    public var hasNewerMember: Bool { leases.membership.withLock { $0.newest > M.version } }
    /// Whether there are other living members.
    public var hasOtherMembers: Bool { leases.membership.withLock { $0.others > 0 } }

    /// Returns the stored state of an aggregate with the offset of its last event; nil before its first event.
    ///
    /// It also reads the clock. An answer about the state may need the time, and this process may not have heard of the
    /// last advance yet.
    public func state(_ key: AggregateKey) async throws -> (aggregate: Aggregate<M>, version: Int)? {
        let partition = engine.inbox(of: key).partition
        let asked = ContinuousClock.now
        let rows = try await pool.execute([
            Query(Statements.state(M.name), [.partition(partition), .key(key)]), Query(SharedClock.read),
        ])
        clock.take(try ClockSample(rows[1][0], realAt: 4, asked: asked))
        guard let row = rows[0].first else { return nil }
        let stored = try StoredState(row)
        // This upgrades an older state for one answer. The sweeper or a batch stores it.
        let aggregate = try await Aggregate<M>.current(stored, partition: partition) { [pool] in
            try await pool.execute($0)
        }
        return (aggregate, stored.offset)
    }

    /// Waits until this service has processed the log up to a position.
    ///
    /// - Returns: false after the timeout.
    public func hasReached(partition: Int, offset: Int, within patience: Duration) async throws -> Bool {
        guard engine.inboxes.indices.contains(partition) else { return false }
        return try await hasReached(partition: partition, offset: offset, by: .now + patience)
    }

    func hasReached(partition: Int, offset: Int, by end: ContinuousClock.Instant) async throws -> Bool {
        try await cursors.hasReached(offset, in: partition, by: end)
    }

    /// Compares a stored state with the fold of the aggregate's history in the log.
    ///
    /// - Throws: ``RuntimeError/malformedState(key:)`` if the log and the state have different numbers of events.
    public func foldCheck(_ key: AggregateKey) async throws -> Bool {
        guard let stored = try await state(key) else { return true }
        let folded = try await fold(key, upTo: stored.version, count: stored.aggregate.eventCount)
        return folded.state.binary == stored.aggregate.state.binary
    }

    private func fold(_ key: AggregateKey, upTo offset: Int, count: Int) async throws -> Aggregate<M> {
        try await Aggregate.folded(key, partition: engine.inbox(of: key).partition, upTo: offset, count: count) {
            [pool] in try await pool.execute($0)
        }
    }

    /// The state of each partition in this process. ``PartitionState/halted(_:)`` is worth an alert.
    public var partitionStates: [PartitionState] {
        get async { await engine.states }
    }

    /// The approximate memory of the cached states, in bytes.
    public var cachedBytes: Int { budget.cost }

    /// The partitions without progress in this process, each with its cause and start. It returns at once, even while a
    /// worker is blocked.
    public var stuckPartitions: [StuckPartition] { engine.inboxes.compactMap { $0.progress.stuck } }

    /// Returns the ``stuckPartitions`` that have failed or waited for a lock for longer than a time. Halted ones are
    /// not included: they wait for an update.
    public func partitionsStuck(for time: Duration) -> [StuckPartition] {
        stuckPartitions.filter { stuck in
            if case .halted = stuck.cause { false } else { stuck.duration() > time }
        }
    }

    /// The number of partitions that this process owns.
    public var ownedPartitions: Int { get async { await leases.owned.count } }
    /// Whether this process took part in the assignment of partitions within the term of a lease. With more replicas
    /// than partitions, some own none.
    public var sharesPartitions: Bool { get async { await leases.isCurrent } }

    /// The lost events for which this process has stopped; nil without any. It answers commands with
    /// `RuntimeError.eventsLost`, and handles nothing, until the log gets another incarnation.
    public var loss: EventsLost? { get async { await engine.loss } }

    public func run() async throws {
        watchdog.start()
        defer { watchdog.stop() }
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                await self.engine.run()
                // The leases stay with this process, so that no other one writes at the lost offsets.
                if await self.engine.loss != nil { try? await gracefulShutdown() }
            }
            group.addTask { await self.background() }
            try await group.next()
            // The background ended: graceful shutdown. The engine finishes the queued commands, then the leases are
            // released.
            await self.engine.stop()
            while let _ = try await group.next() {}
            await self.leases.releaseAll()
        }
    }

    private func background() async {
        await cancelWhenGracefulShutdown {
            await withTaskGroup(of: Void.self) { group in
                group.addTask { try? await self.updates.run() }
                group.addTask { try? await self.wakeUps.run() }
                group.addTask { await self.leases.run() }
                group.addTask { await self.blockers.run() }
                group.addTask { await self.tick() }
                group.addTask { await self.sweeper.run() }
                group.addTask { await self.refuseStale() }
                await group.waitForAll()
            }
        }
    }

    /// Separate from the tick, which may wait for the database.
    private func refuseStale() async {
        repeat {
            for inbox in engine.inboxes { inbox.refuseStale(at: .now) }
        } while (try? await Task.sleep(for: .milliseconds(500))) != nil
    }
}
