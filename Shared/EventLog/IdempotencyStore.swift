public import Postgres

/// An idempotency key with the fingerprint of its request. Stored for 24 h.
public struct Idempotency: Sendable, Hashable {
    /// The idempotency key.
    public var key: String
    /// The digest of the request. The same key with another fingerprint is refused.
    public var fingerprint: [UInt8]

    public init(key: String, fingerprint: [UInt8]) {
        self.key = key
        self.fingerprint = fingerprint
    }
}

/// The error for an idempotency key that was used with another request. The new request changed nothing.
public struct IdempotencyConflict: Error, Sendable, Equatable {
    public init() {}
}

/// An idempotency store for one service and partition, for requests that are not commands of a machine.
///
/// It stores a request in the transaction of its first effect. A repeated request continues from there. The runtime
/// stores commands in the same table, in its batches.
public struct IdempotencyStore: Sendable {
    /// The state of a request.
    public enum Entry: Sendable, Equatable {
        /// The request is new and is now stored.
        case new
        /// The request was started before. It defines the meaning of `progress`.
        case underWay(progress: Int)
        /// The request has an answer.
        case answered([UInt8])
    }

    private let keyParameters: [Parameter]

    public init(service: String, partition: Int) { keyParameters = [.partition(partition), .text(service)] }

    // Waits for a concurrent insert of the same key.
    static let insert = Statement(
        """
        INSERT INTO bus.idempotency (partition, service, key, fingerprint, answer, progress)
        VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (partition, service, key) DO NOTHING
        """)
    static let lock = Statement(
        "SELECT FROM bus.cursors WHERE partition = $1 AND consumer = $2 FOR UPDATE")
    static let look = Statement(
        """
        SELECT fingerprint, answer, progress FROM bus.idempotency WHERE partition = $1 AND service = $2 AND key = $3
        """)
    private static let update = Statement(
        """
        WITH updated AS (
            UPDATE bus.idempotency SET answer = $4, progress = $5 WHERE partition = $1 AND service = $2 AND key = $3
            RETURNING 1)
        SELECT bus.expect((SELECT count(*) FROM updated), 1, 'the number of updated requests')
        """)
    private static let forget = Statement(
        """
        DELETE FROM bus.idempotency WHERE partition = $1 AND service = $2 AND key IN (
            SELECT key FROM bus.idempotency
            WHERE partition = $1 AND service = $2 AND created_at < statement_timestamp() - interval '24 hours'
            ORDER BY created_at LIMIT $3)
        """)

    /// Stores a request in the current transaction of the connection, unless it is stored.
    ///
    /// - Parameter progress: the progress of the request at the commit of the transaction.
    /// - Throws: ``IdempotencyConflict``, or a `PostgresError`.
    public func open(_ request: Idempotency, progress: Int, _ connection: Connection) async throws -> Entry {
        try await open(request, answer: [], progress: progress, connection)
    }

    /// Returns the query that stores the progress of a request.
    public func noting(_ request: Idempotency, progress: Int) -> Query {
        Query(Self.update, keyParameters + [.text(request.key), .bytes([]), .int(progress)])
    }

    /// Returns the query that stores the answer of a request.
    public func closing(_ request: Idempotency, answer: [UInt8]) -> Query {
        Query(Self.update, keyParameters + [.text(request.key), .bytes(answer), .int(nil)])
    }

    /// Returns the query that deletes the oldest requests that are older than 24 h, at most `limit`.
    public func forgetting(limit: Int) -> Query { Query(Self.forget, keyParameters + [.int(limit)]) }

    /// Executes a request in one transaction, once.
    ///
    /// - Parameters:
    ///   - answer: the answer to store.
    ///   - queries: the queries of the request.
    /// - Returns: the stored answer of a repeated request; nil if the request was executed now.
    /// - Throws: ``IdempotencyConflict``, or a `PostgresError`.
    public func once(
        _ request: Idempotency, answer: [UInt8], _ pool: ConnectionPool, _ queries: [Query] = []
    ) async throws -> [UInt8]? {
        try await pool.transaction { connection in
            // Lock out the machine's batches: a batch that found the key free stores its answer without another check.
            _ = try await connection.execute(Query(Self.lock, keyParameters))
            switch try await open(request, answer: answer, progress: nil, connection) {
            case .new:
                if !queries.isEmpty { _ = try await connection.execute(queries) }
                return nil
            case .answered(let answer): return answer
            case .underWay: throw IdempotencyConflict()
            }
        }
    }

    private func open(
        _ request: Idempotency, answer: [UInt8], progress: Int?, _ connection: Connection
    ) async throws -> Entry {
        let rows = try await connection.execute([
            Query(
                Self.insert,
                keyParameters + [.text(request.key), .bytes(request.fingerprint), .bytes(answer), .int(progress)]),
            Query(Self.look, keyParameters + [.text(request.key)], rowsExpected: 1),
        ])
        guard rows[0].affected == 0 else { return .new }
        let (fingerprint, stored, place) = try rows[1][0].decode(([UInt8], [UInt8], Int?).self)
        guard fingerprint == request.fingerprint else { throw IdempotencyConflict() }
        return place.map { .underWay(progress: $0) } ?? .answered(stored)
    }
}
