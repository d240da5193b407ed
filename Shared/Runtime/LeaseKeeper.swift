import EventLog
import Foundation
import Logging
import Machines
import Postgres
import Synchronization

/// The living members of a consumer, as the last round found them.
struct Membership: Sendable, Equatable {
    /// How many there are beside this one.
    var others = 0
    /// The oldest and the newest version of the machine that they run.
    var oldest = 0
    var newest = 0
}

/// Keeps this process's share of a consumer's partitions: enrols it among the members, renews, takes free or expired
/// leases up to the fair share, and gives back what is more than that.
actor LeaseKeeper<M: Machine> {
    /// A dead owner's partitions are free after this.
    static var term: Double { Statements.term }
    static var renewal: Duration { .milliseconds(700) }
    /// By then a death before the start of this process is known: the members' time, and a renewal.
    static var youth: Duration { .seconds(3) }
    /// Answers are looked for that are 24 h old.
    static var sweepInterval: Duration { .seconds(600) }
    static var sweepLimit: Int { 5000 }

    /// Its own one connection: batches that wait in the shared pool must not let the leases lapse.
    nonisolated let pool: ConnectionPool
    /// Read by readiness, which waits for nobody.
    nonisolated let membership = Mutex(Membership())
    private let member: UUID
    private let workers: [PartitionWorker<M>]
    private let logger: Logger
    private(set) var owned: Set<Int> = []
    /// Partitions whose log goes beyond this program: left to newer ones.
    private var halted: Set<Int> = []
    /// What the workers were told of commands that may end the process.
    private var commandGuard: (isOn: Bool, condemned: Set<String>)?
    private var swept: [Int: ContinuousClock.Instant] = [:]
    private let begun = ContinuousClock.now
    private var lastRound: ContinuousClock.Instant?

    /// Whether a round succeeded within the term: what this process owns is its own, and it takes what becomes free.
    var isCurrent: Bool { lastRound.map { $0.duration(to: .now) < .seconds(Self.term) } ?? false }

    init(_ options: ConnectionOptions, member: UUID, workers: [PartitionWorker<M>], logger: Logger) {
        pool = ConnectionPool(options, size: 1, logger: logger)
        self.member = member
        self.workers = workers
        self.logger = logger
    }

    func run() async {
        while !Task.isCancelled {
            do {
                try await round()
                lastRound = .now
                try await sweep()
            } catch {
                logger.warning("leases could not be renewed", metadata: ["error": "\(error)"])
            }
            try? await Task.sleep(for: Self.renewal)
        }
    }

    /// A member that halted somewhere is on its way out: it does not count for the others' shares, or a partition that
    /// it can't take would wait for it. What it can go on with it keeps, and takes no more while there are others.
    private func round() async throws {
        for partition in owned {
            if await workers[partition].halt != nil { halted.insert(partition) }
        }
        let enrol = Call(
            Statements.enrol, [.text(M.name), .uuid(member), .double(Self.term), .int4(Int32(M.version))])
        let rows = try await pool.run([
            halted.isEmpty ? enrol : Call(Statements.leave, [.text(M.name), .uuid(member)]),
            Call(Statements.bury, [.text(M.name)]),
            Call(Statements.living, [.text(M.name), .uuid(member)]),
            Call(Statements.free, [.text(M.name)]),
            Call(Statements.guardsCommands, [.text(M.name), .uuid(member)]),
            Call(Statements.condemnedCommands, [.text(M.name), .int4(Int32(PartitionWorker<M>.triesOfCommand))]),
        ])
        // What ended the process before this one may come again at once, sooner than its death is known.
        let isYoung = begun.duration(to: .now) < Self.youth
        try await guardCommands(isYoung || rows[4][0].bool(0), condemned: Set(rows[5].map { try $0.text(0) }))
        let living = try rows[2][0].int(0)
        let found = Membership(
            others: try rows[2][0].int(3), oldest: try rows[2][0].int(1), newest: try rows[2][0].int(2))
        membership.withLock { $0 = found }
        let share = (workers.count + max(1, living) - 1) / max(1, living)
        for partition in owned.sorted() {
            let isTooMany = halted.isEmpty ? owned.count > share : halted.contains(partition)
            if isTooMany { try await release(partition) } else { try await renew(partition) }
        }
        let takesMore = halted.isEmpty || living == 0
        for row in rows[3] where takesMore && owned.count < share {
            let partition = try row.int(0)
            guard workers.indices.contains(partition) else { continue }
            if !halted.contains(partition) { try await acquire(partition) }
        }
    }

    private func guardCommands(_ isOn: Bool, condemned: Set<String>) async {
        guard commandGuard?.isOn != isOn || commandGuard?.condemned != condemned else { return }
        commandGuard = (isOn, condemned)
        for worker in workers { await worker.guardCommands(isOn, condemned: condemned) }
    }

    /// Forgets the oldest answers of one partition, each partition in its turn.
    private func sweep() async throws {
        let overdue = owned.filter { swept[$0].map { $0 + Self.sweepInterval < .now } ?? true }
        guard let partition = overdue.min() else { return }
        let place: [Parameter] = [.int4(Int32(partition)), .text(M.name)]
        let rows = try await pool.run([
            RequestBook(service: M.name, partition: partition).forgetting(limit: Self.sweepLimit),
            Call(Statements.forgetSuspects, place),
        ])
        // A full sweep leaves more for the next round.
        if rows[0].affected < Self.sweepLimit { swept[partition] = .now }
    }

    private func parameters(_ partition: Int) -> [Parameter] {
        [.int4(Int32(partition)), .text(M.name), .uuid(member), .double(Self.term)]
    }

    /// Changes a cursor row, or gives nil where somebody holds it too long: a stopped replica in the middle of a batch
    /// must not hold up the other partitions' leases.
    private func change(_ partition: Int, _ statement: Statement, _ parameters: [Parameter]) async throws -> Rows? {
        do {
            // One flight is one transaction, so the limit ends with it.
            return try await pool.run([
                Call(Statement("SELECT set_config('lock_timeout', '500ms', true)")),
                Call(statement, parameters),
            ])[1]
        } catch  where error.isLockTimeout {
            workers[partition].progress.failed(.heldUp)
            return nil
        }
    }

    private func renew(_ partition: Int) async throws {
        let changed = try await change(partition, Statements.renew, parameters(partition) + [.bool(M.ownsLimits)])
        guard let rows = changed, rows.isEmpty else { return }
        owned.remove(partition)
        await workers[partition].letGo()
        logger.warning("a lease was lost", metadata: ["partition": "\(partition)"])
    }

    private func acquire(_ partition: Int) async throws {
        let all = parameters(partition) + [.bool(M.ownsLimits)]
        guard let row = try await change(partition, Statements.acquire, all)?.first else { return }
        owned.insert(partition)
        swept[partition] = nil
        await workers[partition].hold(owner: member, epoch: try row.int(0), isSuspicious: try row.int(1) > 1)
    }

    private func release(_ partition: Int) async throws {
        await workers[partition].letGo()
        owned.remove(partition)
        // Where the row is held too long, the lease expires by itself.
        _ = try await change(partition, Statements.release, parameters(partition).prefix(3) + [.bool(M.ownsLimits)])
    }

    /// Gives everything back, so that others need not wait for the term to end. It is over then.
    func releaseAll() async {
        for partition in owned.sorted() {
            do { try await release(partition) } catch {
                logger.debug("a lease was left to expire", metadata: ["error": "\(error)"])
            }
        }
        do { _ = try await pool.run([Call(Statements.leave, [.text(M.name), .uuid(member)])]) } catch {
            logger.debug("the membership was left to expire", metadata: ["error": "\(error)"])
        }
        await pool.close()
    }
}
