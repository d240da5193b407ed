import EventLog
import Foundation
import Logging
import Machines
import Postgres

/// Keeps this process's share of a consumer's partitions: enrols it among the members, renews, takes free or expired leases up
/// to the fair share, and gives back what is more than that.
actor LeaseKeeper<M: Machine> {
    /// A dead owner's partitions are free after this.
    static var term: Double { 3 }
    static var renewal: Duration { .milliseconds(700) }

    private let pool: ConnectionPool
    private let member: UUID
    private let workers: [PartitionWorker<M>]
    private let logger: Logger
    private(set) var owned: Set<Int> = []

    init(pool: ConnectionPool, member: UUID, workers: [PartitionWorker<M>], logger: Logger) {
        self.pool = pool
        self.member = member
        self.workers = workers
        self.logger = logger
    }

    func run() async {
        while !Task.isCancelled {
            do { try await round() } catch {
                logger.warning("leases could not be renewed", metadata: ["error": "\(error)"])
            }
            try? await Task.sleep(for: Self.renewal)
        }
    }

    private func round() async throws {
        let rows = try await pool.run([
            Call(Statements.enrol, [.text(M.name), .uuid(member), .double(Self.term)]),
            Call(Statements.bury, [.text(M.name)]),
            Call(Statements.living, [.text(M.name)]),
            Call(Statements.free, [.text(M.name)]),
        ])
        let living = max(1, try rows[2][0].int(0))
        let share = (workers.count + living - 1) / living
        for partition in owned.sorted() {
            if owned.count > share { try await release(partition) } else { try await renew(partition) }
        }
        for row in rows[3] where owned.count < share { try await acquire(try row.int(0)) }
    }

    private func parameters(_ partition: Int) -> [Parameter] {
        [.int4(Int32(partition)), .text(M.name), .uuid(member), .double(Self.term)]
    }

    private func renew(_ partition: Int) async throws {
        let rows = try await pool.run([Call(Statements.renew, parameters(partition))])
        guard rows[0].isEmpty else { return }
        owned.remove(partition)
        await workers[partition].letGo()
        logger.warning("a lease was lost", metadata: ["partition": "\(partition)"])
    }

    private func acquire(_ partition: Int) async throws {
        let rows = try await pool.run([Call(Statements.acquire, parameters(partition))])
        guard let row = rows[0].first else { return }
        owned.insert(partition)
        await workers[partition].hold(owner: member, epoch: try row.int(0))
    }

    private func release(_ partition: Int) async throws {
        await workers[partition].letGo()
        owned.remove(partition)
        _ = try await pool.run([Call(Statements.release, Array(parameters(partition).prefix(3)))])
    }

    /// Gives everything back, so that others need not wait for the term to end.
    func releaseAll() async {
        for partition in owned.sorted() {
            do { try await release(partition) } catch {
                logger.debug("a lease was left to expire", metadata: ["error": "\(error)"])
            }
        }
        do { _ = try await pool.run([Call(Statements.leave, [.text(M.name), .uuid(member)])]) } catch {
            logger.debug("the membership was left to expire", metadata: ["error": "\(error)"])
        }
    }
}
