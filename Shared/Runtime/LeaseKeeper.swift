import EventLog
import Foundation
import Logging
import Machines
import Postgres
import Synchronization
import Telemetry

/// Keeps this process's share of a consumer's partitions. It renews its membership and its leases, takes free or
/// expired leases up to the fair share, and releases the excess.
actor LeaseKeeper<M: Machine> {
    /// The seconds after which the lease of a dead owner expires.
    static var term: Double { Statements.term }
    static var renewal: Duration { .milliseconds(700) }
    /// The shortest pause between two rounds.
    static var pause: Duration { .milliseconds(200) }
    /// After this age a process knows of every death before its start: the term of a membership and a renewal.
    static var youth: Duration { .seconds(3) }
    /// The interval of the search for idempotency answers older than 24 h.
    static var sweepInterval: Duration { .seconds(600) }
    static var sweepLimit: Int { 5000 }
    /// The interval of the looks at the shards of Citus.
    static var placementInterval: Duration { .seconds(10) }

    /// A connection of its own, so that waiting batches in the shared pool can't delay renewals.
    nonisolated let pool: ConnectionPool
    /// Readiness reads it without waiting.
    nonisolated let membership = Mutex(Membership())
    let member: UUID
    let engine: BatchEngine<M>
    let logger: Logger
    /// The leases of this process, by partition.
    var leases: [Int: OwnedPartition] = [:]
    /// The time without older members after which states get this machine's form.
    private let updatePatience: Duration
    /// The version of the oldest member, and the first round that found it; nil before the first round.
    private var oldestMember: (version: Int, since: ContinuousClock.Instant)?
    /// Partitions that only a newer program can process. Newer members take them. True for those that may continue when
    /// no state is newer than this program.
    private var halted: [Int: Bool] = [:]
    /// The last report to the workers about commands that may end the process.
    private var commandGuard: (isOn: Bool, condemned: Set<String>)?
    var swept: [Int: ContinuousClock.Instant] = [:]
    private let begun = ContinuousClock.now
    private var lastRound: ContinuousClock.Instant?
    /// The last look at the shards; nil if another one is due.
    var placed: ContinuousClock.Instant? = .now
    var patience = LockPatience()

    var owned: Set<Int> { Set(leases.keys) }

    /// Whether a round succeeded within the term of a lease.
    var isCurrent: Bool { lastRound.map { $0.duration(to: .now) < .seconds(Self.term) } ?? false }

    init(
        _ options: ConnectionOptions, member: UUID, engine: BatchEngine<M>, updatePatience: Duration, logger: Logger
    ) {
        self.updatePatience = updatePatience
        pool = ConnectionPool(options, size: 1, logger: logger)
        self.member = member
        self.engine = engine
        self.logger = logger
    }

    func run() async {
        while !Task.isCancelled {
            let next = ContinuousClock.now + Self.renewal
            do {
                try await round()
                lastRound = .now
                try await sweep()
            } catch {
                logger.warning("failed to renew leases, will retry", error: error)
            }
            // After long waits for locked rows, the pause is shorter.
            try? await Task.sleep(until: max(next, .now + Self.pause))
        }
    }

    /// A member with a halted partition gets no share. Otherwise a partition that it can't take would wait for it. It
    /// keeps its other partitions, and takes no more while there are other members. It also leaves partitions to newer
    /// members whose states it can't read.
    private func round() async throws {
        try await readPlacement()
        halted = await engine.halted.mapValues { $0.isOfState }
        // Older members may have been alive meanwhile.
        if !isCurrent { oldestMember = nil }
        _ = try await pool.execute([
            Query(
                Statements.enrol,
                [
                    .text(M.name), .uuid(member), .double(Self.term), .int4(Int32(M.version)),
                    .bool(halted.isEmpty),
                ]),
            Query(Statements.reap, [.text(M.name)]),
        ])
        // While a worker of Citus is down, the reads of all partitions fail. The leases on other workers stay.
        if placement.isDistributed { try await renewAll() }
        let rows = try await pool.execute([
            Query(Statements.living, [.text(M.name), .uuid(member)]),
            Query(Statements.free, [.text(M.name)]),
            Query(Statements.guardsCommands, [.text(M.name), .uuid(member)]),
            Query(Statements.condemnedCommands, [.text(M.name), .int4(Int32(CommandGuard.tries))]),
        ])
        // The input that ended the previous process may return before its death is known.
        let isYoung = begun.duration(to: .now) < Self.youth
        try await guardCommands(isYoung || rows[2][0].decode(Bool.self), condemned: Set(rows[3].decode(String.self)))
        let (living, oldest, newest, others, newestState) = try rows[0][0].decode((Int, Int, Int, Int, Int).self)
        let members = Membership(others: others, oldest: oldest, newest: newest, newestState: newestState)
        let former = membership.withLock { membership in
            defer { membership = members }
            return membership.newestState
        }
        // All newer states got an older form.
        if former > M.version, newestState <= M.version {
            for partition in halted.filter({ $0.value }).keys {
                halted[partition] = nil
                await engine.resume(partition)
            }
        }
        let share = (engine.inboxes.count + max(1, living) - 1) / max(1, living)
        if !placement.isDistributed { try await renewAll() }
        patience.begin(LockPatience.changes)
        try await releaseExcess(over: share, members)
        let takesMore = halted.isEmpty || living == 0
        let free = Dictionary(uniqueKeysWithValues: try rows[1].decode((Int, Int).self))
        for partition in patience.sorted(free.keys) where takesMore {
            let newestState = free[partition] ?? 0
            guard engine.inboxes.indices.contains(partition), halted[partition] == nil,
                leases.count < share || Self.isForFew(newestState, members), !Self.isForNewer(newestState, members)
            else { continue }
            try await acquire(partition)
        }
        try await chooseForms(members)
    }

    var placement: LogPlacement { engine.placement.withLock { $0 } }

    /// Reads the placement again from time to time: an operator may have split a shard. A batch of partitions that no longer
    /// share a shard fails, and then runs alone.
    private func readPlacement() async throws {
        guard placement.isDistributed, placed.map({ $0 + Self.placementInterval < .now }) ?? true else { return }
        let new = try await LogPlacement.read(pool)
        engine.placement.withLock { $0 = new }
        placed = .now
    }

    /// Whether another member can read more states of a partition than this program.
    private static func isForNewer(_ newestState: Int, _ members: Membership) -> Bool {
        M.version < min(newestState, members.newest)
    }

    /// Whether other members can read less states of a partition than this program, which can read as many as any.
    private static func isForFew(_ newestState: Int, _ members: Membership) -> Bool {
        let best = min(newestState, members.newest)
        return members.oldest < best && M.version >= best
    }

    private func releaseExcess(over share: Int, _ members: Membership) async throws {
        for (partition, lease) in leases.sorted(by: { $0.key < $1.key }) {
            let isExcess = halted.isEmpty && leases.count > share && !Self.isForFew(lease.newestState, members)
            guard isExcess || halted[partition] != nil || Self.isForNewer(lease.newestState, members) else {
                continue
            }
            try await release(partition)
        }
    }

    // MARK: The form of states

    /// Chooses the form in which the states of the owned partitions are written: that of the oldest member. A newer form
    /// comes when no older member has been seen for a while.
    private func chooseForms(_ members: Membership) async throws {
        // Nothing is older than the first version.
        guard M.version > 1 else { return }
        let oldest = min(M.version, max(1, members.oldest))
        if oldestMember?.version != oldest { oldestMember = (oldest, .now) }
        let mayRaise = oldestMember.map { $0.since.duration(to: .now) >= updatePatience } ?? false
        let others = leases.filter { $0.value.form > oldest || $0.value.form < oldest && mayRaise }.keys.sorted()
        guard !others.isEmpty else { return }
        var count = 0
        for group in placement.groups(of: others) {
            let changed = try await pool.execute(
                Statements.setForms, .int4s(group.map { Int32($0) }), .text(M.name), .uuid(member),
                .int4(Int32(oldest)))
            // The next round changes those that a batch holds at this moment.
            for (partition, newestState) in try changed.decode((Int, Int).self) {
                leases[partition]?.form = oldest
                leases[partition]?.changes += 1
                leases[partition]?.newestState = newestState
            }
            count += changed.count
        }
        logger.info(
            "set form of states", metadata: [LogKey.version: "\(oldest)", LogKey.count: "\(count)"])
    }

    /// Takes note that the states of a partition have no newer form than this.
    func note(_ partition: Int, newestState: Int) { leases[partition]?.newestState = newestState }

    private func guardCommands(_ isOn: Bool, condemned: Set<String>) async {
        guard commandGuard?.isOn != isOn || commandGuard?.condemned != condemned else { return }
        commandGuard = (isOn, condemned)
        await engine.guardCommands(isOn, condemned: condemned)
    }

    /// Deletes the oldest idempotency answers of one partition at a time.
    private func sweep() async throws {
        let overdue = leases.keys.filter { swept[$0].map { $0 + Self.sweepInterval < .now } ?? true }
        guard let partition = overdue.min() else { return }
        let keyParameters: [Parameter] = [.partition(partition), .text(M.name)]
        let rows = try await pool.execute([
            IdempotencyStore(service: M.name, partition: partition).forgetting(limit: Self.sweepLimit),
            Query(Statements.forgetSuspects, keyParameters),
        ])
        // A full sweep continues in the next round.
        if rows[0].affected < Self.sweepLimit { swept[partition] = .now }
    }
}
