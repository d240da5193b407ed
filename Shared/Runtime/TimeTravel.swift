public import Contracts
import EventLog
public import Machines
public import Postgres
import Records
public import Timeline

/// A point in the past of one aggregate.
public enum PastMoment: Sendable, Equatable {
    /// With all events up to a suite time.
    case time(Instant)
    /// With all events of its partition up to an offset.
    case offset(Int)
}

/// An error: retention has dropped the requested part of the log.
public struct BeyondRetention: Error, Sendable, Equatable, CustomStringConvertible {
    /// The earliest time that the log still covers.
    public let earliest: Instant

    /// Creates the error.
    public init(earliest: Instant) { self.earliest = earliest }

    public var description: String { "the log covers this aggregate only from \(earliest) on" }
}

/// Reads the state of an aggregate at any point that the log still covers. It folds the events from the newest snapshot
/// before it, or from the beginning.
public struct TimeTravel<M: Machine>: Sendable {
    private let ask: @Sendable (Query) async throws -> Rows

    private let lastEvent = Statement(
        """
        SELECT log_offset FROM bus.events
        WHERE partition = $1 AND key = $2 AND source = $3 AND time <= $4 ORDER BY log_offset DESC LIMIT 1
        """)
    private let lastSnapshot = Statement(
        """
        SELECT log_offset FROM bus.snapshots
        WHERE partition = $1 AND key = $2 AND service = $3 AND decided_at <= $4 ORDER BY log_offset DESC LIMIT 1
        """)
    private let base = Statement(
        """
        SELECT decided_at FROM bus.snapshots
        WHERE partition = $1 AND key = $2 AND service = $3 AND is_base ORDER BY log_offset LIMIT 1
        """)

    /// Creates a reader.
    ///
    /// - Parameter ask: runs a query.
    public init(ask: @escaping @Sendable (Query) async throws -> Rows) { self.ask = ask }

    /// Returns the state of an aggregate at a point in the past.
    ///
    /// - Returns: the state and the offset of its last event; nil before its first event.
    /// - Throws: ``BeyondRetention``. `ContractError` for an event of a newer version. If only a snapshot of another
    ///   machine version is left, ``RuntimeError/newerState(key:version:)`` or ``RuntimeError/malformedState(key:)``.
    public func aggregate(
        _ key: AggregateKey, partition: Int, at moment: PastMoment
    ) async throws -> (aggregate: Aggregate<M>, offset: Int)? {
        let keyParameters: [Parameter] = [.partition(partition), .key(key), .text(M.name)]
        let offset: Int
        switch moment {
        case .offset(let asked): offset = asked
        case .time(let time):
            let until = keyParameters + [.instant(time)]
            var last = try await ask(Query(lastEvent, until)).first
            if last == nil { last = try await ask(Query(lastSnapshot, until)).first }
            // No retained event is that old: it was dropped, or the aggregate had not begun.
            offset = try last?.decode(Int.self) ?? 0
        }
        var aggregate = Aggregate<M>(key: key)
        var after = 0
        let start = try LogReader.foldStart(
            in: try await ask(LogReader.foldStart(of: key, service: M.name, partition: partition, upTo: offset)))
        switch start {
        case .beginning: break
        case .beyondRetention:
            guard let row = try await ask(Query(base, keyParameters)).first else { return nil }
            throw BeyondRetention(earliest: try row.decode(Instant.self))
        case .snapshot(let base):
            let known = M.stored(base.state, version: base.machineVersion)
            after = base.offset
            if case .exact(let state) = known {
                aggregate = Aggregate(key: key, state: state, now: base.decidedAt, eventCount: base.eventCount)
                break
            }
            // A state of another machine version. The fold of its events gives the same or more, if the log has all of
            // them.
            try await aggregate.fold(keyParameters, after: 0, upTo: base.offset, ask)
            guard aggregate.eventCount != base.eventCount else { break }
            guard case .partial(let state) = known else {
                throw base.machineVersion > M.version
                    ? RuntimeError.newerState(key: key, version: base.machineVersion)
                    : RuntimeError.malformedState(key: key)
            }
            aggregate = Aggregate(key: key, state: state, now: base.decidedAt, eventCount: base.eventCount)
        }
        let last = try await aggregate.fold(keyParameters, after: after, upTo: offset, ask)
        return aggregate.eventCount == 0 ? nil : (aggregate, last)
    }
}
