public import Contracts
import EventLog
public import Machines
public import Postgres
import Records

/// Reads the stored states of many aggregates: one query returns a page of a partition.
public struct StoredStates<M: Machine>: Sendable {
    /// The most states that one page scans, however few of them match. This bounds the time of the statement and its
    /// snapshot. At 4 KiB each they are 4 MiB.
    public static var limit: Int { 1000 }

    private let ask: @Sendable (Query) async throws -> Rows
    private let page = Statement(
        """
        SELECT key, CASE WHEN position($3 IN state) > 0 THEN state END, machine_version::int8, event_count, decided_at, version
        FROM "\(M.name)".states WHERE partition = $1 AND key > $2 ORDER BY key LIMIT $4
        """)

    /// Creates a reader.
    ///
    /// - Parameter ask: runs a query.
    public init(ask: @escaping @Sendable (Query) async throws -> Rows) { self.ask = ask }

    /// Returns the current states of a partition, in the order of their keys.
    ///
    /// - Parameters:
    ///   - text: returns only states whose binary form has this text, and maybe some more. The binary form stores texts
    ///     unchanged, so the database can filter.
    ///   - key: the last key of the previous page; nil for the first page.
    /// - Returns: nil as `last` for the last page.
    public func page(
        of partition: Int, mentioning text: String, after key: AggregateKey? = nil
    ) async throws -> (states: [(key: AggregateKey, state: M)], last: AggregateKey?) {
        let parameters: [Parameter] = [
            .partition(partition), .text(key?.description ?? ""), .bytes(Array(text.utf8)), .int(Self.limit),
        ]
        let rows = try await ask(Query(page, parameters))
        var states: [(key: AggregateKey, state: M)] = []
        for row in rows where try row.decode([UInt8]?.self, at: 1) != nil {
            states.append(try await state(in: row, partition))
        }
        guard rows.count == Self.limit else { return (states, nil) }
        return (states, try rows.last?.decode(AggregateKey.self, at: 0))
    }

    private func state(in row: Row, _ partition: Int) async throws -> (key: AggregateKey, state: M) {
        let stored = try StoredState(row)
        return (stored.key, try await Aggregate<M>.current(stored, partition: partition, query: ask).state)
    }

    // The newest state at or before the offset: from an event, or from a snapshot if retention has dropped the event.
    private static var former: Statement {
        Statement(
            """
            WITH changed AS (
                SELECT DISTINCT key FROM bus.events WHERE partition = $1 AND log_offset > $2 AND type = ANY($3))
            SELECT changed.key, newest.type, newest.version::int8, newest.data::text, base.state,
                base.machine_version::int8
            FROM changed
            LEFT JOIN LATERAL (
                SELECT e.type, e.version, e.data FROM bus.events AS e
                WHERE e.partition = $1 AND e.key = changed.key AND e.log_offset <= $2 AND e.type = ANY($3)
                ORDER BY e.log_offset DESC LIMIT 1) AS newest ON true
            LEFT JOIN LATERAL (
                SELECT b.state, b.machine_version FROM bus.snapshots AS b
                WHERE b.partition = $1 AND b.key = changed.key AND b.service = $4 AND b.log_offset <= $2
                    AND newest.type IS NULL
                ORDER BY b.log_offset DESC LIMIT 1) AS base ON true
            """)
    }

    /// Returns the last of some events, up to an offset, for each aggregate that has another one of them later. The
    /// stored state is too new for these aggregates.
    ///
    /// - Parameter types: the event types.
    public func former(
        in partition: Int, upTo offset: Int, types: [String]
    ) async throws -> [(key: AggregateKey, word: Former<M>)] {
        let rows = try await ask(
            Query(Self.former, [.partition(partition), .int(offset), .texts(types), .text(M.name)]))
        return try rows.decode((AggregateKey, String?, Int?, [UInt8]?, [UInt8]?, Int?).self).map {
            key, type, version, data, state, machineVersion in
            if let type, let version, let data {
                return (key, .event(try M.OwnEvent(type: type, version: version, data: data)))
            }
            guard let state, let machineVersion, let known = M.stored(state, version: machineVersion) else {
                return (key, .nothing)
            }
            return (key, .state(known.state))
        }
    }
}

/// The last known data of an aggregate at a log position.
public enum Former<M: Machine>: Sendable {
    /// The last event.
    case event(M.OwnEvent)
    /// A snapshot, if retention has dropped the event.
    case state(M)
    /// None: the aggregate had not begun, or retention has dropped its data.
    case nothing
}

extension DurableRuntime {
    /// All stored states.
    public var states: StoredStates<M> {
        StoredStates { [pool] in
            // A slower page would hold its snapshot for too long. The limit ends with the pipeline.
            try await pool.execute([Query(Statement("SELECT set_config('statement_timeout', '5s', true)")), $0])[1]
        }
    }
}
