import Contracts
import Machines
import Postgres
import Timeline

/// What a batch knows of an outage of the service.
///
/// The cursor row has the outages that were found when the lease was taken or renewed (`bus.outage_since` says what one is),
/// until every aggregate with a deadline was told: some in each batch at the head of the log, all others when an input of
/// theirs comes first. Telling somebody twice changes nothing, since the aggregate's own time is over the outage then; so a
/// crash in between repeats what was not committed, and nothing else.
struct OutageReading: Sendable {
    /// What inputs are to be told of.
    var outage: Outage?
    /// What the cursor row has, under our lease.
    var recorded: Outage?
    /// The next aggregates to tell, in the order of their keys.
    var unheard: [AggregateKey] = []
    /// Nobody comes behind ``unheard``, and each of them was told.
    var isLast = false
}

extension PartitionWorker {
    /// Looks further than the cursor row only where nobody has served the partition for a second: in a moment whoever takes
    /// the lease, or renews it after it has lapsed, takes down what has passed. Commands need no lease, and come before.
    func readOutage(
        _ cursor: Row, _ connection: Connection, _ found: inout Gathered<M>
    ) async throws {
        guard M.ownsLimits else { return }
        found.outages.outage = try outage(cursor, 8)
        let isServed = try found.holdsLease && !cursor.bool(6) || cursor.optionalBool(7) != true
        if isServed {
            if found.holdsLease { found.outages.recorded = found.outages.outage }
            return
        }
        let rows = try await connection.run(
            Call(Statements.outageUntilNow, [.int4(Int32(partition)), .text(M.name)], rowsExpected: 1))
        guard let open = try outage(rows[0], 0) else { return }
        found.outages.outage = Outage(from: min(open.from, found.outages.outage?.from ?? open.from), until: open.until)
    }

    private func outage(_ row: Row, _ column: Int) throws -> Outage? {
        guard let from = try row.optionalInt(column), let until = try row.optionalInt(column + 1) else { return nil }
        return Outage(from: Instant(milliseconds: Int64(from)), until: Instant(milliseconds: Int64(until)))
    }

    /// The next ones to tell. Alone in their batch while batches are made small because something is wrong, so that the one
    /// at fault is known.
    func readUnheard(_ limit: Int, _ connection: Connection, _ found: inout Gathered<M>) async throws {
        guard let recorded = found.outages.recorded, found.isAtHead else { return }
        guard limit == Self.inputLimit || found.events.isEmpty && found.due.isEmpty else { return }
        let place: [Parameter] = [.int4(Int32(partition)), .text(told?.outage == recorded ? told?.key ?? "" : "")]
        let rows = try await connection.run(Call(Statements.limited(M.name), place + [.int(limit)]))
        found.outages.unheard = try rows.map { row throws(PostgresError) in AggregateKey(try row.text(0)) }
        found.outages.isLast = rows.count < limit
        if !found.outages.isLast { found.hasMore = true }
    }

    /// Tells them in memory. Whom the batch has no time for stays in the list of the next one.
    func tell(_ first: inout Gathered<M>, _ batch: inout Batch<M>) {
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

    /// Remembers who was told, once that is committed or there was nothing to commit.
    func noteTold(_ first: Gathered<M>) {
        guard let recorded = first.outages.recorded, let key = first.outages.unheard.last else { return }
        told = (recorded, key.description)
    }

    /// What takes the outage off the cursor row, in the batch that tells the last of them.
    func forgetting(_ first: Gathered<M>) -> [Call] {
        guard first.outages.isLast, let recorded = first.outages.recorded else { return [] }
        return [
            Call(
                Statements.forgetOutage,
                [
                    .int4(Int32(partition)), .text(M.name), .int(Int(recorded.from.milliseconds)),
                    .int(Int(recorded.until.milliseconds)),
                ])
        ]
    }
}
