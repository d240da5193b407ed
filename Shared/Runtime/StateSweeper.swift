import Contracts
import EventLog
import Logging
import Machines
import Postgres
import Synchronization
import Telemetry
import Timeline

/// Writes the states of the owned partitions in their chosen form. So idle devices get the new machine's deadlines,
/// retention can drop old events, and after a rollback the older program can read all states.
final class StateSweeper<M: Machine>: Sendable {
    /// The number of keys that one statement scans.
    static var reach: Int { 2000 }
    /// The number of states that are read and written together.
    static var chunk: Int { 50 }
    /// The pause between two chunks, in which others use the database.
    static var pause: Duration { .milliseconds(10) }
    /// The time until the next scan of all states while older replicas may write.
    static var soon: Duration { .seconds(60) }
    static var later: Duration { .seconds(3600) }

    private struct Progress {
        var left: [Int: Int] = [:]
        var upgraded = 0
    }

    private let pool: ConnectionPool
    private let leases: LeaseKeeper<M>
    private let clock: SharedClock
    private let logger: Logger
    private let progress = Mutex(Progress())
    private let look: Statement
    private let read: Statement

    init(pool: ConnectionPool, leases: LeaseKeeper<M>, clock: SharedClock, logger: Logger) {
        self.pool = pool
        self.leases = leases
        self.clock = clock
        self.logger = logger
        // $3 is the chosen form, $4 the version of this machine, and $5 the offset after which states of the chosen form
        // are wanted, too.
        let isWanted = "machine_version <= $4 AND (machine_version <> $3 OR version > $5)"
        look = Statement(
            """
            SELECT max(p.key), count(*), count(*) FILTER (WHERE \(isWanted)),
                count(*) FILTER (WHERE machine_version < $4), count(*) FILTER (WHERE machine_version > $4)
            FROM (
                SELECT s.key, s.machine_version, s.version FROM "\(M.name)".states AS s
                WHERE s.partition = $1 AND s.key > $2 ORDER BY s.key LIMIT $6) AS p
            """)
        read = Statement(
            """
            SELECT \(Statements.stateColumns), next_deadline FROM "\(M.name)".states
            WHERE partition = $1 AND key > $2 AND key <= $6 AND \(isWanted) ORDER BY key LIMIT $7
            """)
    }

    /// The number of older states in the owned partitions at the last scan.
    var left: Int { progress.withLock { $0.left.values.reduce(0, +) } }
    /// The number of states that this process has upgraded.
    var upgraded: Int { progress.withLock { $0.upgraded } }

    func run() async {
        // Nothing is older than the first version.
        guard M.version > 1 else { return }
        var swept: [Int: Swept] = [:]
        while !Task.isCancelled {
            let leases = await leases.leases
            swept = swept.filter { leases[$0.key]?.isSame(as: $0.value.lease) ?? false }
            progress.withLock { $0.left = $0.left.filter { leases[$0.key] != nil } }
            for (partition, lease) in leases.sorted(by: { $0.key < $1.key })
            where swept[partition].map({ $0.due <= .now }) ?? true {
                do {
                    swept[partition] = try await sweep(partition, lease, after: swept[partition]?.head)
                } catch {
                    guard !Task.isCancelled else { return }
                    logger.warning(
                        "failed to upgrade states, will retry",
                        error: error, metadata: [LogKey.partition: "\(partition)"])
                    swept[partition] = Swept(lease: lease, head: swept[partition]?.head, due: .now + .seconds(5))
                }
            }
            try? await Task.sleep(for: .milliseconds(500))
        }
    }

    /// The last sweep of a partition.
    private struct Swept {
        var lease: OwnedPartition
        /// The head of the log at its start; nil if no sweep under this lease and form succeeded.
        var head: Int?
        /// The time of the next one.
        var due: ContinuousClock.Instant
    }

    /// Writes the states of one partition in its chosen form.
    ///
    /// - Parameter former: the head of the log at the former sweep with the same form; nil for the first one.
    /// - Returns: nil if the lease or the form has changed.
    private func sweep(_ partition: Int, _ lease: OwnedPartition, after former: Int?) async throws -> Swept? {
        let own: [Parameter] = [.partition(partition), .text(M.name), .uuid(lease.owner), .int(lease.epoch)]
        guard let row = try await pool.execute(Query(Statements.formPlan, own)).first else { return nil }
        let (form, hasNewer, changes, head) = try row.decode((Int, Bool, Int, Int).self)
        guard form == lease.form else { return nil }
        // Older members write states with their own deadlines. Of the chosen form, only these are of interest.
        let isOlderForm = form < M.version
        let after = isOlderForm ? former ?? 0 : Int.max
        let ranges = try await find(partition, form, after)
        progress.withLock { $0.left[partition] = ranges.reduce(0) { $0 + $1.older } }
        let upgrader = StateUpgrader<M>(partition: partition, lease: lease, form: form, pool: pool)
        var total = StateUpgrader<M>.Result()
        total.newer = ranges.reduce(0) { $0 + $1.beyond }
        for range in ranges where range.count > 0 {
            guard try await upgrade(range, upgrader, after, &total) else { return nil }
        }
        if total.written > 0 || !total.unreadable.isEmpty || hasNewer && total.newer > 0 { log(total, partition, form) }
        // A state that no program can read does not delay retention: the log names it, and ``left`` still counts it.
        let noted = try await pool.execute(Query(Statements.swept, own + [.int(changes), .bool(total.newer == 0)]))
        if let row = noted.first { await leases.note(partition, newestState: try row.decode(Int.self)) }
        let isMixed = isOlderForm || ranges.contains { $0.count > 0 }
        return Swept(lease: lease, head: head, due: .now + (isMixed ? Self.soon : Self.later))
    }

    private func log(_ total: StateUpgrader<M>.Result, _ partition: Int, _ form: Int) {
        logger.info(
            "upgraded states",
            metadata: [
                LogKey.partition: "\(partition)", LogKey.version: "\(form)", LogKey.states: "\(total.written)",
                LogKey.unreadable: "\(total.unreadable.count)",
            ])
        if total.newer > 0 {
            logger.warning(
                "states keep a newer form, older programs refuse requests for them",
                metadata: [LogKey.partition: "\(partition)", LogKey.states: "\(total.newer)"])
        }
    }

    /// Keys after `after` up to `to`, and numbers of states among them.
    private struct KeyRange {
        var after: String
        var to: String
        /// Those to read.
        var count: Int
        /// Those with an older form than this machine's.
        var older: Int
        /// Those that only a newer program can read.
        var beyond: Int
    }

    private func find(_ partition: Int, _ form: Int, _ offset: Int) async throws -> [KeyRange] {
        var ranges: [KeyRange] = []
        var after = ""
        while true {
            let found = try await pool.execute(
                look, .partition(partition), .text(after), .int4(Int32(form)), .int4(Int32(M.version)), .int(offset),
                .int(Self.reach), rowsExpected: 1)
            let (last, scanned, count, older, beyond) = try found[0].decode((String?, Int, Int, Int, Int).self)
            guard let last else { return ranges }
            ranges.append(KeyRange(after: after, to: last, count: count, older: older, beyond: beyond))
            guard scanned == Self.reach else { return ranges }
            after = last
        }
    }

    /// - Returns: false if the lease or the form has changed.
    private func upgrade(
        _ range: KeyRange, _ upgrader: StateUpgrader<M>, _ offset: Int, _ total: inout StateUpgrader<M>.Result
    ) async throws -> Bool {
        let (partition, form) = (upgrader.partition, upgrader.form)
        var after = range.after
        while true {
            guard await leases.leases[partition].map({ $0.isSame(as: upgrader.lease) }) ?? false else { return false }
            let states: [DatedState] = try await pool.execute(
                read, .partition(partition), .text(after), .int4(Int32(form)), .int4(Int32(M.version)), .int(offset),
                .text(range.to), .int(Self.chunk)
            ).map { (try StoredState($0), try $0.decode(Instant?.self, at: StoredState.columnCount)) }
            guard let last = states.last else { return true }
            let result = try await upgrader.upgrade(states, at: clock.now)
            for state in result.unreadable {
                logger.error("failed to read stored state", metadata: [LogKey.aggregate: "\(state.key)"])
            }
            total.written += result.written
            total.newer += result.newer
            total.unreadable += result.unreadable
            progress.withLock { progress in
                progress.upgraded += result.written
                if form == M.version { progress.left[partition]? -= states.count - result.unreadable.count }
            }
            after = last.stored.key.description
            try await Task.sleep(for: Self.pause)
        }
    }
}

extension DurableRuntime {
    /// The number of older states that still need an upgrade, in the partitions that this process owns.
    public var outdatedStates: Int { sweeper.left }
    /// The number of states that this process has upgraded in the background.
    public var upgradedStates: Int { sweeper.upgraded }
}
