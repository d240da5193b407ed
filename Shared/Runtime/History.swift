import Contracts
import EventLog
import Machines
import Postgres
import Records
import Timeline

/// A row of `states`, undecoded.
struct StoredState: Sendable {
    let key: AggregateKey
    let binary: [UInt8]
    let machineVersion: Int
    let eventCount: Int
    let decidedAt: Instant
    /// The offset of its last event.
    let offset: Int

    /// The number of columns that it reads.
    static let columnCount = 6

    /// - Parameter row: begins with the columns of ``Statements/stateColumns``.
    init(_ row: Row) throws(PostgresError) {
        let time: Instant
        (key, binary, machineVersion, eventCount, time, offset) = try row.decode(
            (AggregateKey, [UInt8], Int, Int, Instant, Int).self, at: 0)
        decidedAt = time.heldToDocuments
    }

    func aggregate<M: Machine>(_ state: M) -> Aggregate<M> {
        Aggregate(key: key, state: state, now: decidedAt, eventCount: eventCount)
    }
}

extension Aggregate {
    /// The number of events that one query reads.
    static var page: Int { 500 }

    /// Returns a stored state for this machine. If the stored form is incomplete, it also reads the log.
    ///
    /// - Parameter query: runs a query; outside of any lock.
    /// - Throws: ``RuntimeError/newerState(key:version:)``, ``RuntimeError/malformedState(key:)``, or a `PostgresError`.
    static func current(
        _ stored: StoredState, partition: Int, query: @Sendable (Query) async throws -> Rows
    ) async throws -> Aggregate {
        guard stored.machineVersion <= M.version else {
            throw RuntimeError.newerState(key: stored.key, version: stored.machineVersion)
        }
        let upgrade = M.stored(stored.binary, version: stored.machineVersion)
        if case .exact(let state) = upgrade { return stored.aggregate(state) }
        guard stored.machineVersion < M.version else { throw RuntimeError.malformedState(key: stored.key) }
        do {
            return try await folded(
                stored.key, partition: partition, upTo: stored.offset, count: stored.eventCount, query: query)
        } catch let error as PostgresError {
            throw error
        } catch is CancellationError {
            throw CancellationError()
        } catch {
            // The log no longer has the beginning, or has an event that this program can't read.
            guard case .partial(let state) = upgrade else { throw RuntimeError.malformedState(key: stored.key) }
            return stored.aggregate(state)
        }
    }

    /// Returns the fold of an aggregate up to an offset, from the newest snapshot before it or from the beginning.
    ///
    /// - Parameters:
    ///   - offset: the offset of its last event.
    ///   - count: its number of events.
    ///   - query: runs a query.
    /// - Throws: ``RuntimeError/malformedState(key:)`` if retention has dropped the needed events.
    static func folded(
        _ key: AggregateKey, partition: Int, upTo offset: Int, count: Int,
        query: @Sendable (Query) async throws -> Rows
    ) async throws -> Aggregate {
        let keyParameters: [Parameter] = [.partition(partition), .key(key), .text(M.name)]
        let start = try LogReader.foldStart(
            in: try await query(LogReader.foldStart(of: key, service: M.name, partition: partition, upTo: offset)))
        guard case .snapshot(let base) = start else {
            return try await beginning(key, keyParameters, offset, count, query)
        }
        let upgrade = M.stored(base.state, version: base.machineVersion)
        if case .exact(let state) = upgrade {
            return try await fold(state, key, base, keyParameters, offset, count, query)
        }
        // An older and incomplete state: the events supply the rest, if the log still has all of them.
        do { return try await beginning(key, keyParameters, offset, count, query) } catch let error as RuntimeError {
            guard case .partial(let state) = upgrade else { throw error }
            return try await fold(state, key, base, keyParameters, offset, count, query)
        }
    }

    private static func beginning(
        _ key: AggregateKey, _ keyParameters: [Parameter], _ end: Int, _ count: Int,
        _ query: @Sendable (Query) async throws -> Rows
    ) async throws -> Aggregate {
        var aggregate = Aggregate(key: key)
        try await aggregate.fold(keyParameters, after: 0, upTo: end, query)
        guard aggregate.eventCount == count else { throw RuntimeError.malformedState(key: key) }
        return aggregate
    }

    private static func fold(
        _ state: M, _ key: AggregateKey, _ base: BaseSnapshot, _ keyParameters: [Parameter], _ end: Int, _ count: Int,
        _ query: @Sendable (Query) async throws -> Rows
    ) async throws -> Aggregate {
        var aggregate = Aggregate(key: key, state: state, now: base.decidedAt, eventCount: base.eventCount)
        try await aggregate.fold(keyParameters, after: base.offset, upTo: end, query)
        guard aggregate.eventCount == count else { throw RuntimeError.malformedState(key: key) }
        return aggregate
    }

    /// Folds the aggregate's own events in a range of offsets, page by page.
    ///
    /// - Returns: the offset of the last folded event.
    @discardableResult
    mutating func fold(
        _ keyParameters: [Parameter], after start: Int, upTo end: Int, _ query: @Sendable (Query) async throws -> Rows
    ) async throws -> Int {
        var after = start
        while after < end {
            let rows = try await query(
                Query(LogReader.historyPage, keyParameters + [.int(after), .int(end), .int(Self.page)]))
            let events = try rows.map(LogReader.event)
            try fold(events)
            after = events.last?.offset ?? after
            guard events.count == Self.page else { break }
        }
        return after
    }
}
