public import Contracts
public import Foundation
public import Postgres

/// The open streams of orders that an advance of the clock waits for, in the database.
public struct OrderStreamStore: Sendable {
    /// The reader of a stream.
    public enum Subject: Sendable, Hashable {
        case device(AggregateKey)
        /// All devices of a fleet.
        case fleet(String)
    }

    /// The time for which a row counts without a renewal.
    public static let lease = Duration.seconds(10)

    let pool: ConnectionPool

    /// - Parameter pool: with a role that may write the streams, or only read them.
    public init(pool: ConnectionPool) { self.pool = pool }

    private static let add = Statement(
        """
        INSERT INTO bus.order_streams (stream, holder, key, fleet, expires)
        VALUES ($1, $2, $3, $4, clock_timestamp() + make_interval(secs => $5))
        ON CONFLICT (stream) DO UPDATE SET holder = excluded.holder, expires = excluded.expires
        """)
    private static let renew = Statement(
        """
        UPDATE bus.order_streams SET expires = clock_timestamp() + make_interval(secs => $2)
        WHERE holder = $1 RETURNING stream, key
        """)
    private static let remove = Statement("DELETE FROM bus.order_streams WHERE stream = $1")
    private static let expired = Statement(
        "SELECT stream, key FROM bus.order_streams WHERE expires < clock_timestamp() ORDER BY expires LIMIT $1")
    private static let open = Statement(
        "SELECT key, fleet FROM bus.order_streams WHERE expires >= clock_timestamp()")

    /// Adds an open stream, or renews it.
    ///
    /// - Parameter lease: the time for which the row counts without a renewal.
    public func add(
        _ stream: UUID, of subject: Subject, holder: UUID, lease: Duration = Self.lease
    ) async throws(PostgresError) {
        var (key, fleet): (String?, String?)
        switch subject {
        case .device(let device): key = device.description
        case .fleet(let name): fleet = name
        }
        _ = try await pool.execute(
            Self.add, .uuid(stream), .uuid(holder), .text(key), .text(fleet), .double(lease / .seconds(1)))
    }

    /// Renews the streams of a process, and returns those that are still listed, with their devices.
    public func renew(_ holder: UUID) async throws(PostgresError) -> [(stream: UUID, device: AggregateKey?)] {
        try await pool.execute(Self.renew, .uuid(holder), .double(Self.lease / .seconds(1)))
            .decode((UUID, AggregateKey?).self).map { (stream: $0, device: $1) }
    }

    /// Removes a closed stream.
    public func remove(_ stream: UUID) async throws(PostgresError) {
        _ = try await pool.execute(Self.remove, .uuid(stream))
    }

    /// Returns streams of lost processes with their devices.
    public func expired(limit: Int) async throws(PostgresError) -> [(stream: UUID, device: AggregateKey?)] {
        try await pool.execute(Self.expired, .int(limit)).decode((UUID, AggregateKey?).self)
            .map { (stream: $0, device: $1) }
    }

    /// Returns the readers of all open streams.
    public func open() async throws(PostgresError) -> Set<Subject> {
        var subjects: Set<Subject> = []
        for (key, fleet) in try await pool.execute(Self.open).decode((AggregateKey?, String?).self) {
            if let key { subjects.insert(.device(key)) }
            if let fleet { subjects.insert(.fleet(fleet)) }
        }
        return subjects
    }
}
