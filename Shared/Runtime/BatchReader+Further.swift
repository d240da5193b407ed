import Contracts
import EventLog
import Machines
import Postgres
import Timeline

// The reads that follow from the first pipeline.
extension BatchReader {
    mutating func readParkedAndOutages() async throws {
        let parked = requests.map { $0.partition }.filter { found[$0]?.hasParkedKeys == true }
        let unserved = unserved.sorted()
        guard !parked.isEmpty || !unserved.isEmpty else { return }
        var outages: [Query] = []
        if !unserved.isEmpty {
            let living = try await connection.execute(Statements.livingSince, .text(M.name), rowsExpected: 1)
            let (since, suiteTime) = try living[0].decode((Instant, Int).self)
            outages = unserved.map {
                Query(
                    Statements.outageUntilNow,
                    [
                        .int4(Int32($0)), .text(M.name), .timestamp(milliseconds: since.milliseconds),
                        .int(suiteTime),
                    ], rowsExpected: 1)
            }
        }
        let rows = try await connection.execute(
            parked.map { Query(Statements.parkedKeys, [.int4(Int32($0)), .text(M.name)]) } + outages)
        for (partition, rows) in zip(parked, rows) {
            let keys = try rows.decode(AggregateKey.self)
            found[partition]?.parked.formUnion(keys)
            found[partition]?.due.removeAll(where: keys.contains)
        }
        for (partition, rows) in zip(unserved, rows.dropFirst(parked.count)) {
            guard let open = try Self.outage(rows[0], 0) else { continue }
            let known = found[partition]?.outages.outage
            found[partition]?.outages.outage = Outage(from: min(open.from, known?.from ?? open.from), until: open.until)
        }
    }

    /// Reads the next aggregates to notify of an outage. During bisection and quarantine they are alone in their batch,
    /// so that the one at fault is known.
    mutating func readUnheard() async throws {
        for request in requests {
            guard let limit = request.log, let input = found[request.partition], input.isAtHead,
                let recorded = input.outages.recorded,
                limit == Quarantine.Limits().log || input.events.isEmpty && input.due.isEmpty
            else { continue }
            let last = request.notified.flatMap { $0.outage == recorded ? $0.key : nil } ?? ""
            let rows = try await connection.execute(
                Query(
                    Statements.limited(M.name),
                    [.int4(Int32(request.partition)), .text(last), .int(limit)]))
            let keys = try rows.decode(AggregateKey.self)
            found[request.partition]?.outages.unheard = keys
            found[request.partition]?.outages.isLast = keys.count < limit
            if keys.count >= limit { found[request.partition]?.hasMore = true }
        }
    }

    /// Reads the states of all inputs: from the valid caches, and those that are missing from the database.
    mutating func readStates() async throws {
        var missing: (partitions: [Int32], keys: [String]) = ([], [])
        for request in requests {
            guard let input = found[request.partition] else { continue }
            var needed = Set(request.keys)
            for event in input.events { needed.insert(event.key) }
            needed.formUnion(input.due)
            needed.formUnion(input.outages.unheard)
            needed.subtract(asked[request.partition] ?? [])
            let cached = input.isCacheValid ? caches[request.partition].values(of: needed) : [:]
            found[request.partition]?.aggregates.merge(cached) { read, _ in read }
            for key in needed where cached[key] == nil {
                missing.partitions.append(Int32(request.partition))
                missing.keys.append(key.description)
            }
        }
        if !missing.keys.isEmpty {
            for row in try await connection.execute(readStates(missing)) { try take(state: row) }
        }
        for partition in found.keys { found[partition]?.stopBeforeNewerStates() }
    }

    func readStates(_ keys: (partitions: [Int32], keys: [String])) -> Query {
        Query(statements.states, [.int4s(keys.partitions), .texts(keys.keys), Statements.list(keys.partitions)])
    }

    mutating func take(state row: Row) throws {
        let stored = try StoredState(row)
        let partition = try row.decode(Int.self, at: StoredState.columnCount)
        let request = requests.first { $0.partition == partition }
        found[partition]?.take(stored, unreadable: request?.unreadable ?? [:], folded: request?.folded ?? [:])
    }
}
