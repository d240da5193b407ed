import EventLog
import Foundation
import Logging
import Machines
import Postgres
import Telemetry

/// The changes of leases in the cursor rows.
extension LeaseKeeper {
    private func parameters(_ partition: Int) -> [Parameter] {
        [.partition(partition), .text(M.name), .uuid(member), .double(Self.term)]
    }

    /// Changes a cursor row; nil if another session holds its lock for too long. A stopped replica in the middle of a
    /// batch must not delay the leases of other partitions.
    private func change(_ partition: Int, _ query: Query, within limit: Duration) async throws -> Rows? {
        // The limit ends with the transaction.
        let queries = [
            Query(engine.statements.begin), Query(Self.limitWaits, [.text(limit.setting)]), query,
            Query(engine.statements.commit),
        ]
        guard let result = await Self.result(of: queries, pool) else {
            patience.waitedInVain(for: partition, limit)
            if limit >= LockPatience.long { engine.inboxes[partition].progress.failed(.heldUp) }
            return nil
        }
        let rows = try result.get()[2]
        patience.succeeded(partition)
        return rows
    }

    /// Returns the results of queries; nil if they waited too long for a lock.
    private static func result(of queries: [Query], _ pool: ConnectionPool) async -> Result<[Rows], PostgresError>? {
        do { return .success(try await pool.execute(queries)) } catch {
            return error.isLockTimeout ? nil : .failure(error)
        }
    }

    private static var limitWaits: Statement { Statement("SELECT set_config('lock_timeout', $1, true)") }

    // MARK: Renewals

    /// Renews all leases of a shard in one statement, then those whose rows other sessions held.
    func renewAll() async throws {
        patience.begin(LockPatience.renewals)
        var failure: (any Error)?
        var waiting: [Int] = []
        for group in placement.groups(of: leases.keys) {
            do { waiting += try await renewFree(group) } catch {
                failure = failure ?? error
                // An operator may have split the shard.
                placed = nil
            }
        }
        do { try await dropLost(&waiting) } catch { failure = failure ?? error }
        waiting = patience.sorted(waiting)
        while let partition = waiting.first, let limit = patience.limit(for: partition) {
            do { waiting = try await renew(waiting, first: partition, within: limit) } catch {
                failure = failure ?? error
                waiting.removeAll { placement.shard(of: $0) == placement.shard(of: partition) }
            }
        }
        if let failure { throw failure }
    }

    /// Waits for a row, then renews all leases of its shard whose rows are free by now: a batch that ended meanwhile has
    /// released its rows.
    ///
    /// - Returns: the partitions that still wait, in their order.
    private func renew(_ waiting: [Int], first: Int, within limit: Duration) async throws -> [Int] {
        var rest = waiting
        // The workers of Citus do not know the limit of the wait, so there is none.
        if placement.isDistributed {
            try await Task.sleep(for: min(limit, LockPatience.short))
        } else {
            rest.removeFirst()
            if try await !renew(first, within: limit) { rest.append(first) }
        }
        let others = rest.filter { placement.shard(of: $0) == placement.shard(of: first) }
        guard !others.isEmpty else { return rest }
        let held = Set(try await renewFree(others))
        // The next look is at another shard.
        return rest.filter { !others.contains($0) } + others.filter(held.contains)
    }

    /// Renews the leases of one shard whose rows no other session has locked.
    ///
    /// - Returns: the other partitions.
    private func renewFree(_ group: [Int]) async throws -> [Int] {
        let rows = try await pool.execute(
            Statements.renewFree, .int4s(group.map { Int32($0) }), .text(M.name), .uuid(member), .double(Self.term),
            .bool(M.ownsLimits))
        let renewed = Dictionary(uniqueKeysWithValues: try rows.decode((Int, Int).self))
        for (partition, newestState) in renewed {
            note(partition, newestState: newestState)
            patience.succeeded(partition)
        }
        return group.filter { renewed[$0] == nil }
    }

    /// Renews a lease.
    ///
    /// - Returns: false if another session holds the row's lock.
    private func renew(_ partition: Int, within limit: Duration) async throws -> Bool {
        let query = Query(Statements.renew, parameters(partition) + [.bool(M.ownsLimits)])
        guard let rows = try await change(partition, query, within: limit) else { return false }
        if let row = rows.first {
            note(partition, newestState: try row.decode(Int.self))
        } else {
            await drop(partition)
        }
        return true
    }

    /// Drops the leases that other members have.
    private func dropLost(_ held: inout [Int]) async throws {
        for group in placement.groups(of: held) {
            let rows = try await pool.execute(
                Statements.lost, .int4s(group.map { Int32($0) }), .text(M.name), .uuid(member))
            for partition in try rows.decode(Int.self) {
                await drop(partition)
                held.removeAll { $0 == partition }
            }
        }
    }

    private func drop(_ partition: Int) async {
        leases[partition] = nil
        await engine.leaseLost(partition)
        logger.warning("lost lease", metadata: [LogKey.partition: "\(partition)"])
    }

    // MARK: Other changes

    func acquire(_ partition: Int) async throws {
        guard let limit = patience.limit(for: partition) else { return }
        let query = Query(Statements.acquire, parameters(partition) + [.bool(M.ownsLimits)])
        let lease = try await change(partition, query, within: limit)?.first
        guard let (epoch, attempts, form, newestState) = try lease?.decode((Int, Int, Int, Int).self) else { return }
        leases[partition] = OwnedPartition(owner: member, epoch: epoch, form: form, newestState: newestState)
        swept[partition] = nil
        await engine.hold(partition, .init(owner: member, epoch: epoch), isSuspicious: attempts > 1)
    }

    /// Releases a lease, if time is left for it.
    func release(_ partition: Int) async throws {
        guard let limit = patience.limit(for: partition, isLong: true) else { return }
        await engine.leaseLost(partition)
        leases[partition] = nil
        let query = Query(Statements.release, parameters(partition).prefix(3) + [.bool(M.ownsLimits)])
        // If the row stays locked, the lease expires.
        _ = try await change(partition, query, within: limit)
    }

    /// Releases all leases, so that other members need not wait for them to expire.
    func releaseAll() async {
        patience.begin(.seconds(5))
        for partition in patience.sorted(leases.keys) {
            do { try await release(partition) } catch {
                logger.debug("failed to release lease, it will expire", error: error)
            }
        }
        do { try await pool.execute(Statements.leave, .text(M.name), .uuid(member)) } catch {
            logger.debug("failed to remove membership, it will expire", error: error)
        }
        await pool.close()
    }
}
