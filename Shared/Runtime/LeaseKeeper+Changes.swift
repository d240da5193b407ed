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
        let begun = ContinuousClock.now
        let result = await Self.result(of: queries, pool)
        let isLong = patience.wasInVain(partition)
        patience.waited(for: partition, begun.duration(to: .now), inVain: result == nil)
        guard let result else {
            if isLong { engine.inboxes[partition].progress.failed(.heldUp) }
            return nil
        }
        return try result.get()[2]
    }

    /// Returns the results of queries; nil if they waited too long for a lock.
    private static func result(of queries: [Query], _ pool: ConnectionPool) async -> Result<[Rows], PostgresError>? {
        do { return .success(try await pool.execute(queries)) } catch {
            return error.isLockTimeout ? nil : .failure(error)
        }
    }

    private static var limitWaits: Statement { Statement("SELECT set_config('lock_timeout', $1, true)") }

    /// Renews all leases of a shard in one statement. Those that a batch holds at this moment, and lost ones, follow one by
    /// one.
    func renewAll() async throws {
        var failure: (any Error)?
        patience.begin(LockPatience.renewals)
        var waiting = await renewFree(patience.sorted(leases.keys), &failure)
        while let partition = waiting.first, let limit = patience.limit(for: partition) {
            waiting.removeFirst()
            var isRenewed = true
            do { isRenewed = try await renew(partition, within: limit) } catch { failure = failure ?? error }
            // A batch that ended meanwhile has released its rows.
            waiting = await renewFree(waiting, &failure)
            if !isRenewed { waiting.append(partition) }
        }
        if let failure { throw failure }
    }

    /// Renews the leases whose rows no other session has locked.
    ///
    /// - Returns: the other partitions in the same order, without those of failed statements.
    private func renewFree(_ partitions: [Int], _ failure: inout (any Error)?) async -> [Int] {
        var held: Set<Int> = []
        for group in placement.groups(of: partitions) {
            do { held.formUnion(try await renewFree(group)) } catch { failure = failure ?? error }
        }
        return partitions.filter(held.contains)
    }

    /// Renews the leases of one shard whose rows no other session has locked.
    ///
    /// - Returns: the other partitions.
    private func renewFree(_ group: [Int]) async throws -> Set<Int> {
        let rows = try await pool.execute(
            Statements.renewFree, .int4s(group.map { Int32($0) }), .text(M.name), .uuid(member), .double(Self.term),
            .bool(M.ownsLimits))
        let renewed = try rows.decode((Int, Int).self)
        for (partition, newestState) in renewed { note(partition, newestState: newestState) }
        return Set(group).subtracting(renewed.map(\.0))
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
            leases[partition] = nil
            await engine.leaseLost(partition)
            logger.warning("lost lease", metadata: [LogKey.partition: "\(partition)"])
        }
        return true
    }

    func acquire(_ partition: Int) async throws {
        guard let limit = patience.limit(for: partition) else { return }
        let query = Query(Statements.acquire, parameters(partition) + [.bool(M.ownsLimits)])
        let lease = try await change(partition, query, within: limit)?.first
        guard let (epoch, attempts, form, newestState) = try lease?.decode((Int, Int, Int, Int).self) else { return }
        leases[partition] = OwnedPartition(owner: member, epoch: epoch, form: form, newestState: newestState)
        swept[partition] = nil
        await engine.hold(partition, .init(owner: member, epoch: epoch), isSuspicious: attempts > 1)
    }

    func release(_ partition: Int) async throws {
        await engine.leaseLost(partition)
        leases[partition] = nil
        // If the row stays locked, the lease expires.
        guard let limit = patience.limit(for: partition) else { return }
        let query = Query(Statements.release, parameters(partition).prefix(3) + [.bool(M.ownsLimits)])
        _ = try await change(partition, query, within: limit)
    }

    /// Releases all leases, so that other members need not wait for them to expire.
    func releaseAll() async {
        patience.begin(.seconds(2))
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
