import Contracts
import Machines
import Postgres
import Timeline

/// The outages that a batch knows.
///
/// The cursor row keeps the outages that the lease's acquisition or renewal found (`bus.outage_since` defines them). It
/// keeps them until every aggregate with a deadline is notified. Each batch at the head of the log notifies some
/// aggregates. Others are notified by their next input, if it comes earlier. A repeated notification changes nothing,
/// because the aggregate's own time is then after the outage. So after a crash only uncommitted work is repeated.
struct OutageReading: Sendable {
    /// The outage to apply before inputs.
    var outage: Outage?
    /// The outage in the cursor row, under our lease.
    var recorded: Outage?
    /// The next aggregates to notify, in the order of their keys.
    var unheard: [AggregateKey] = []
    /// Whether ``unheard`` are the last ones, and all of them are notified.
    var isLast = false
}

extension PartitionWorker {
    /// Reads the outage of the partition. It makes a query only if no process has served the partition for a second:
    /// the next acquisition or renewal will record the outage, but commands need no lease and can come earlier.
    func readOutage(
        _ cursor: Row, _ connection: Connection, _ found: inout BatchInput<M>
    ) async throws {
        guard M.ownsLimits else { return }
        found.outages.outage = try outage(cursor, 8)
        let (isOver, isIdle) = try cursor.decode((Bool, Bool?).self, at: 6)
        let isServed = found.holdsLease && !isOver || isIdle != true
        if isServed {
            if found.holdsLease { found.outages.recorded = found.outages.outage }
            return
        }
        let rows = try await connection.execute(
            Query(Statements.outageUntilNow, [.int4(Int32(partition)), .text(M.name)], rowsExpected: 1))
        guard let open = try outage(rows[0], 0) else { return }
        found.outages.outage = Outage(from: min(open.from, found.outages.outage?.from ?? open.from), until: open.until)
    }

    private func outage(_ row: Row, _ column: Int) throws -> Outage? {
        guard case (let from?, let until?) = try row.decode((Instant?, Instant?).self, at: column) else { return nil }
        return Outage(from: from, until: until)
    }

    /// Reads the next aggregates to notify. During bisection and quarantine they are alone in their batch, so that the
    /// one at fault is known.
    func readUnheard(_ limit: Int, _ connection: Connection, _ found: inout BatchInput<M>) async throws {
        guard let recorded = found.outages.recorded, found.isAtHead else { return }
        guard limit == Self.inputLimit || found.events.isEmpty && found.due.isEmpty else { return }
        let keyParameters: [Parameter] = [
            .int4(Int32(partition)), .text(told?.outage == recorded ? told?.key ?? "" : ""),
        ]
        let rows = try await connection.execute(Query(Statements.limited(M.name), keyParameters + [.int(limit)]))
        found.outages.unheard = try rows.decode(AggregateKey.self)
        found.outages.isLast = rows.count < limit
        if !found.outages.isLast { found.hasMore = true }
    }

    /// Notifies them in memory. The next batch notifies those without time.
    func tell(_ first: inout BatchInput<M>, _ batch: inout Batch<M>) {
        for (index, key) in first.outages.unheard.enumerated() {
            var isNewer = false
            if case .newerState = first.faults[key] { isNewer = true }
            if isNewer { first.halt = first.halt ?? "the state of \(key) is newer than this program" }
            guard !isNewer, first.isAtHead, batch.run(outageFor: key) else {
                first.outages.unheard.removeSubrange(index...)
                first.outages.isLast = false
                first.hasMore = first.hasMore || !isNewer
                return
            }
        }
        if !first.isAtHead { first.outages.isLast = false }
    }

    /// Records the last notified key, after the commit or if there was nothing to commit.
    func noteTold(_ first: BatchInput<M>) {
        guard let recorded = first.outages.recorded, let key = first.outages.unheard.last else { return }
        told = (recorded, key.description)
    }

    /// Returns the call that removes the outage from the cursor row, in the batch that notifies the last aggregate.
    func forgetting(_ first: BatchInput<M>) -> [Query] {
        guard first.outages.isLast, let recorded = first.outages.recorded else { return [] }
        return [
            Query(
                Statements.forgetOutage,
                [
                    .int4(Int32(partition)), .text(M.name), .int(Int(recorded.from.milliseconds)),
                    .int(Int(recorded.until.milliseconds)),
                ])
        ]
    }
}
