public import Postgres

/// What makes a repeated request recognisable. Kept for 24 h.
public struct Idempotency: Sendable, Hashable {
    public var key: String
    /// A digest of the request: the same key with another one is refused.
    public var fingerprint: [UInt8]

    public init(key: String, fingerprint: [UInt8]) {
        self.key = key
        self.fingerprint = fingerprint
    }
}

/// The idempotency key was used with another request. Nothing was changed.
public struct IdempotencyConflict: Error, Sendable, Equatable {
    public init() {}
}

/// The requests of one service and partition that callers may repeat, other than commands of a machine: the runtime writes
/// those with its batches, into the same table. A request is taken down in the transaction of its first effect, so that
/// whoever repeats it goes on from there.
public struct RequestBook: Sendable {
    /// What the book says of a request.
    public enum Entry: Sendable, Equatable {
        /// Nothing: it was taken down just now.
        case new
        /// It was begun before, and had come so far, in its own terms.
        case underWay(progress: Int)
        case answered([UInt8])
    }

    private let place: [Parameter]

    public init(service: String, partition: Int) { place = [.int4(Int32(partition)), .text(service)] }

    // Waits for whoever takes down the same key at this moment: the row is there then, or it is ours.
    private static let insert = Statement(
        """
        INSERT INTO bus.idempotency (partition, service, key, fingerprint, answer, progress)
        VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (partition, service, key) DO NOTHING
        """)
    private static let lock = Statement(
        "SELECT FROM bus.cursors WHERE partition = $1 AND consumer = $2 FOR UPDATE")
    private static let look = Statement(
        """
        SELECT fingerprint, answer, progress FROM bus.idempotency WHERE partition = $1 AND service = $2 AND key = $3
        """)
    private static let update = Statement(
        """
        WITH noted AS (
            UPDATE bus.idempotency SET answer = $4, progress = $5 WHERE partition = $1 AND service = $2 AND key = $3
            RETURNING 1)
        SELECT bus.expect((SELECT count(*) FROM noted), 1, 'the number of requests noted')
        """)
    private static let forget = Statement(
        """
        DELETE FROM bus.idempotency WHERE partition = $1 AND service = $2 AND key IN (
            SELECT key FROM bus.idempotency
            WHERE partition = $1 AND service = $2 AND created_at < clock_timestamp() - interval '24 hours'
            ORDER BY created_at LIMIT $3)
        """)

    /// Takes down a request that begins, unless it is there, in the transaction that the connection is in.
    ///
    /// - Parameter progress: how far it will have come when the transaction commits.
    /// - Throws: ``IdempotencyConflict``, or a `PostgresError`.
    public func open(_ request: Idempotency, progress: Int, _ connection: Connection) async throws -> Entry {
        try await open(request, answer: [], progress: progress, connection)
    }

    /// Notes how far a request has come that is under way.
    public func noting(_ request: Idempotency, progress: Int) -> Call {
        Call(Self.update, place + [.text(request.key), .bytes([]), .int(progress)])
    }

    /// Notes what a request is answered, now and whenever it is repeated.
    public func closing(_ request: Idempotency, answer: [UInt8]) -> Call {
        Call(Self.update, place + [.text(request.key), .bytes(answer), .int(nil)])
    }

    /// Forgets requests that are 24 h old, some at a time, the oldest first.
    public func forgetting(limit: Int) -> Call { Call(Self.forget, place + [.int(limit)]) }

    /// Does what a request asks for in one transaction, once.
    ///
    /// - Parameters:
    ///   - answer: what is kept for whoever repeats it.
    ///   - calls: what it does.
    /// - Returns: the answer that it got before; nil where it is done now.
    /// - Throws: ``IdempotencyConflict``, or a `PostgresError`.
    public func once(
        _ request: Idempotency, answer: [UInt8], _ pool: ConnectionPool, _ calls: [Call] = []
    ) async throws -> [UInt8]? {
        try await pool.transaction { connection in
            // In turn with the machine's batches: one that found the key free stores its answer without looking again.
            _ = try await connection.run(Call(Self.lock, place))
            switch try await open(request, answer: answer, progress: nil, connection) {
            case .new:
                if !calls.isEmpty { _ = try await connection.run(calls) }
                return nil
            case .answered(let answer): return answer
            case .underWay: throw IdempotencyConflict()
            }
        }
    }

    private func open(
        _ request: Idempotency, answer: [UInt8], progress: Int?, _ connection: Connection
    ) async throws -> Entry {
        let rows = try await connection.run([
            Call(
                Self.insert,
                place + [.text(request.key), .bytes(request.fingerprint), .bytes(answer), .int(progress)]),
            Call(Self.look, place + [.text(request.key)], rowsExpected: 1),
        ])
        guard rows[0].affected == 0 else { return .new }
        guard try rows[1][0].bytes(0) == request.fingerprint else { throw IdempotencyConflict() }
        if let progress = try rows[1][0].optionalInt(2) { return .underWay(progress: progress) }
        return .answered(try rows[1][0].bytes(1))
    }
}
