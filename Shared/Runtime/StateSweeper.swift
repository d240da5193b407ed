import Contracts
import EventLog
import Logging
import Machines
import Postgres
import Synchronization
import Telemetry

/// Upgrades the states of older machines in the partitions that this process owns. So idle devices get the new
/// machine's deadlines, and retention can drop old events.
final class StateSweeper<M: Machine>: Sendable {
    /// The number of keys that one statement scans.
    static var reach: Int { 2000 }
    /// The number of states that are read and written together.
    static var chunk: Int { 50 }
    /// The pause between two chunks, in which others use the database.
    static var pause: Duration { .milliseconds(10) }
    /// The time until the next scan of all states after one that found some. An older replica may still be writing.
    static var soon: Duration { .seconds(60) }
    static var later: Duration { .seconds(3600) }

    private struct Progress {
        var left: [Int: Int] = [:]
        var upgraded = 0
    }

    private let pool: ConnectionPool
    private let owned: @Sendable () async -> Set<Int>
    private let logger: Logger
    private let progress = Mutex(Progress())
    private let look: Statement
    private let read: Statement
    private let reached = Statement(
        """
        UPDATE bus.state_versions SET reached = $3 WHERE partition = $1 AND service = $2 AND reached < $3
        """)

    /// - Parameter owned: the partitions whose leases this process has; none while an older program is a member.
    init(pool: ConnectionPool, logger: Logger, owned: @escaping @Sendable () async -> Set<Int>) {
        self.pool = pool
        self.owned = owned
        self.logger = logger
        look = Statement(
            """
            SELECT max(p.key), count(*), count(*) FILTER (WHERE p.machine_version < $3) FROM (
                SELECT s.key, s.machine_version FROM "\(M.name)".states AS s
                WHERE s.partition = $1 AND s.key > $2 ORDER BY s.key LIMIT $4) AS p
            """)
        read = Statement(
            """
            SELECT \(Statements.stateColumns) FROM "\(M.name)".states
            WHERE partition = $1 AND key > $2 AND key <= $3 AND machine_version < $4 ORDER BY key LIMIT $5
            """)
    }

    /// The number of older states in the owned partitions at the last scan.
    var left: Int { progress.withLock { $0.left.values.reduce(0, +) } }
    /// The number of states that this process has upgraded.
    var upgraded: Int { progress.withLock { $0.upgraded } }

    func run() async {
        // Nothing is older than the first version.
        guard M.version > 1 else { return }
        var due: [Int: ContinuousClock.Instant] = [:]
        while !Task.isCancelled {
            let owned = await owned()
            due = due.filter { owned.contains($0.key) }
            progress.withLock { $0.left = $0.left.filter { owned.contains($0.key) } }
            for partition in owned.sorted() where due[partition].map({ $0 <= .now }) ?? true {
                do {
                    let found = try await sweep(partition)
                    due[partition] = .now + (found > 0 ? Self.soon : Self.later)
                } catch {
                    guard !Task.isCancelled else { return }
                    logger.warning(
                        "failed to upgrade states, will retry",
                        error: error, metadata: [LogKey.partition: "\(partition)"])
                    due[partition] = .now + .seconds(5)
                }
            }
            try? await Task.sleep(for: .milliseconds(500))
        }
    }

    /// Upgrades all states of one partition.
    ///
    /// - Returns: the number of older states that it found.
    func sweep(_ partition: Int) async throws -> Int {
        let stretches = try await find(partition)
        let found = stretches.reduce(0) { $0 + $1.count }
        progress.withLock { $0.left[partition] = found }
        var unreadable = 0
        for stretch in stretches { unreadable += try await upgrade(stretch, partition) }
        if found > 0 {
            logger.info(
                "upgraded states",
                metadata: [
                    LogKey.partition: "\(partition)", LogKey.version: "\(M.version)", LogKey.states: "\(found)",
                    LogKey.unreadable: "\(unreadable)",
                ])
        }
        // A state that no program can read does not delay retention: the log names it, and ``left`` still counts it.
        try await pool.execute(reached, .partition(partition), .text(M.name), .int4(Int32(M.version)))
        return found
    }

    /// Keys after `after` up to `to`, and the number of older states among them.
    private struct KeyRange {
        var after: String
        var to: String
        var count: Int
    }

    private func find(_ partition: Int) async throws -> [KeyRange] {
        var stretches: [KeyRange] = []
        var after = ""
        while true {
            let found = try await pool.execute(
                look, .partition(partition), .text(after), .int4(Int32(M.version)), .int(Self.reach), rowsExpected: 1)
            let (last, scanned, count) = try found[0].decode((String?, Int, Int).self)
            guard let last else { return stretches }
            if count > 0 { stretches.append(KeyRange(after: after, to: last, count: count)) }
            guard scanned == Self.reach else { return stretches }
            after = last
        }
    }

    /// - Returns: the number of unreadable states.
    private func upgrade(_ stretch: KeyRange, _ partition: Int) async throws -> Int {
        let upgrader = StateUpgrader<M>(partition: partition, pool: pool)
        var after = stretch.after
        var unreadable = 0
        while true {
            let states = try await pool.execute(
                read, .partition(partition), .text(after), .text(stretch.to), .int4(Int32(M.version)), .int(Self.chunk)
            ).map(StoredState.init)
            guard let last = states.last else { return unreadable }
            let result = try await upgrader.upgrade(states, until: .now + .seconds(3600))
            for state in result.unreadable {
                logger.error("failed to read stored state", metadata: [LogKey.aggregate: "\(state.key)"])
            }
            unreadable += result.unreadable.count
            progress.withLock { progress in
                progress.upgraded += result.written
                progress.left[partition]? -= states.count - result.unreadable.count
            }
            after = last.key.description
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
