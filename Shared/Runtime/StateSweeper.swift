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
    private let logger: Logger
    private let progress = Mutex(Progress())
    private let look: Statement
    private let read: Statement
    private let reached = Statement(
        """
        UPDATE bus.state_versions AS v SET reached = $3
        WHERE v.partition = $1 AND v.service = $2 AND v.reached < $3 AND EXISTS (
            SELECT FROM bus.cursors AS c
            WHERE c.partition = $1 AND c.consumer = $2 AND c.state_form = $3 AND c.owner = $4 AND c.epoch = $5)
        """)

    init(pool: ConnectionPool, leases: LeaseKeeper<M>, logger: Logger) {
        self.pool = pool
        self.leases = leases
        self.logger = logger
        look = Statement(
            """
            SELECT max(p.key), count(*), count(*) FILTER (WHERE p.machine_version <> $3),
                count(*) FILTER (WHERE p.machine_version < $4) FROM (
                SELECT s.key, s.machine_version FROM "\(M.name)".states AS s
                WHERE s.partition = $1 AND s.key > $2 ORDER BY s.key LIMIT $5) AS p
            """)
        read = Statement(
            """
            SELECT \(Statements.stateColumns), next_deadline FROM "\(M.name)".states
            WHERE partition = $1 AND key > $2 AND key <= $3 AND (machine_version <> $4 OR $5) ORDER BY key LIMIT $6
            """)
    }

    /// The number of older states in the owned partitions at the last scan.
    var left: Int { progress.withLock { $0.left.values.reduce(0, +) } }
    /// The number of states that this process has upgraded.
    var upgraded: Int { progress.withLock { $0.upgraded } }

    func run() async {
        // Nothing is older than the first version.
        guard M.version > 1 else { return }
        var due: [Int: (at: ContinuousClock.Instant, form: Int)] = [:]
        while !Task.isCancelled {
            let leases = await leases.leases
            due = due.filter { leases[$0.key]?.form == $0.value.form }
            progress.withLock { $0.left = $0.left.filter { leases[$0.key] != nil } }
            for (partition, lease) in leases.sorted(by: { $0.key < $1.key })
            where due[partition].map({ $0.at <= .now }) ?? true {
                do {
                    let isMixed = try await sweep(partition, lease)
                    due[partition] = (.now + (isMixed ? Self.soon : Self.later), lease.form)
                } catch {
                    guard !Task.isCancelled else { return }
                    logger.warning(
                        "failed to upgrade states, will retry",
                        error: error, metadata: [LogKey.partition: "\(partition)"])
                    due[partition] = (.now + .seconds(5), lease.form)
                }
            }
            try? await Task.sleep(for: .milliseconds(500))
        }
    }

    /// Writes all states of one partition in its chosen form.
    ///
    /// - Returns: whether states had another form, or get an older form than this machine's.
    private func sweep(_ partition: Int, _ lease: OwnedPartition) async throws -> Bool {
        let isOlderForm = lease.form < M.version
        let ranges = try await find(partition, lease)
        let found = ranges.reduce(0) { $0 + $1.count }
        progress.withLock { $0.left[partition] = ranges.reduce(0) { $0 + $1.older } }
        let upgrader = StateUpgrader<M>(partition: partition, lease: lease, pool: pool)
        var total = StateUpgrader<M>.Result()
        for range in ranges where range.count > 0 || isOlderForm {
            let result = try await upgrade(range, upgrader)
            total.written += result.written
            total.newer += result.newer
            total.unreadable += result.unreadable
        }
        if total.written > 0 || !total.unreadable.isEmpty || total.newer > 0 { log(total, partition, lease) }
        // A state that no program can read does not delay retention: the log names it, and ``left`` still counts it.
        try await pool.execute(
            reached, .partition(partition), .text(M.name), .int4(Int32(lease.form)), .uuid(lease.owner),
            .int(lease.epoch))
        if lease.newestState > lease.form, total.newer == 0, let newest = try await upgrader.settle() {
            await leases.note(partition, newestState: newest)
        }
        return found > 0 || isOlderForm
    }

    private func log(_ total: StateUpgrader<M>.Result, _ partition: Int, _ lease: OwnedPartition) {
        logger.info(
            "upgraded states",
            metadata: [
                LogKey.partition: "\(partition)", LogKey.version: "\(lease.form)", LogKey.states: "\(total.written)",
                LogKey.unreadable: "\(total.unreadable.count)",
            ])
        if total.newer > 0 {
            logger.warning(
                "states can't be written in the older form, older programs refuse requests for them",
                metadata: [LogKey.partition: "\(partition)", LogKey.states: "\(total.newer)"])
        }
    }

    /// Keys after `after` up to `to`, the number of states among them that have another form than the chosen one, and
    /// the number with an older form than this machine's.
    private struct KeyRange {
        var after: String
        var to: String
        var count: Int
        var older: Int
    }

    private func find(_ partition: Int, _ lease: OwnedPartition) async throws -> [KeyRange] {
        var ranges: [KeyRange] = []
        var after = ""
        while true {
            let found = try await pool.execute(
                look, .partition(partition), .text(after), .int4(Int32(lease.form)), .int4(Int32(M.version)),
                .int(Self.reach), rowsExpected: 1)
            let (last, scanned, count, older) = try found[0].decode((String?, Int, Int, Int).self)
            guard let last else { return ranges }
            ranges.append(KeyRange(after: after, to: last, count: count, older: older))
            guard scanned == Self.reach else { return ranges }
            after = last
        }
    }

    private func upgrade(_ range: KeyRange, _ upgrader: StateUpgrader<M>) async throws -> StateUpgrader<M>.Result {
        let form = upgrader.lease.form
        var total = StateUpgrader<M>.Result()
        var after = range.after
        while true {
            let states: [DatedState] = try await pool.execute(
                read, .partition(upgrader.partition), .text(after), .text(range.to), .int4(Int32(form)),
                .bool(form < M.version), .int(Self.chunk)
            ).map { (try StoredState($0), try $0.decode(Instant?.self, at: StoredState.columnCount)) }
            guard let last = states.last else { return total }
            let result = try await upgrader.upgrade(states)
            for state in result.unreadable {
                logger.error("failed to read stored state", metadata: [LogKey.aggregate: "\(state.key)"])
            }
            total.written += result.written
            total.newer += result.newer
            total.unreadable += result.unreadable
            progress.withLock { progress in
                progress.upgraded += result.written
                if form == M.version { progress.left[upgrader.partition]? -= states.count - result.unreadable.count }
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
