import Contracts
public import Postgres
public import Timeline

/// The revoked tokens of devices, and the position up to which the log was read for them.
public struct Revocations: Sendable, Equatable {
    /// The offset of the revocation by device. Tokens that were issued before it are void.
    public var devices: [String: Int] = [:]
    /// The real time of the revocation by device; nil for one from the log.
    public var times: [String: Instant] = [:]
    /// The last read offset by partition.
    public var positions: [Int: Int] = [:]
}

/// The revocations of tokens, from the log and from a table that outlives its retention.
public struct RevocationLog: Sendable {
    /// The types of the events that revoke tokens.
    public static let types = [LifecycleEvent.DeviceRevoked.type, LifecycleEvent.DeviceDeregistered.type]
    private static let chunk = 500

    private let pool: ConnectionPool

    public init(pool: ConnectionPool) { self.pool = pool }

    private static let positions = Statement(
        """
        SELECT p.partition::int8, coalesce(r.log_offset, 0)
        FROM bus.partitions AS p LEFT JOIN bus.revocation_positions AS r USING (partition)
        """)
    private static let devices = Statement("SELECT key, log_offset, revoked_at FROM bus.revocations")

    /// Returns the revocations of the table.
    public func kept() async throws(PostgresError) -> Revocations {
        // Read the positions first: the table has all revocations up to them, and perhaps more.
        let rows = try await pool.execute([Query(Self.positions), Query(Self.devices)])
        var kept = Revocations()
        kept.positions = try LogReader.heads(rows[0])
        for (key, offset, time) in try rows[1].decode((AggregateKey, Int, Instant).self) {
            guard let device = key.device else { continue }
            (kept.devices[device], kept.times[device]) = (offset, time)
        }
        return kept
    }

    /// Reads the log after positions, a bounded step in each partition.
    ///
    /// - Returns: new revocations with the positions after them, and whether these are the heads of all partitions.
    public func read(after positions: [Int: Int]) async throws(PostgresError) -> (found: Revocations, isAtHead: Bool) {
        var found = Revocations(positions: positions)
        var isAtHead = true
        // The heads were read before the events, and commit order is offset order: up to there no event is missing.
        var behind: [(partition: Int, position: Int, head: Int)] = []
        for (partition, head) in try await pool.execute(LogReader.heads).decode((Int, Int).self) {
            let position = positions[partition, default: 0]
            if position < head { behind.append((partition, position, head)) }
        }
        guard !behind.isEmpty else { return (found, true) }
        let queries = behind.map {
            Query(
                LogReader.following, .partition($0.partition), .int($0.position), .texts(Self.types), .int(Self.chunk))
        }
        for (cursor, rows) in zip(behind, try await pool.execute(queries)) {
            var last = 0
            for row in rows {
                let event = try LogReader.event(row)
                last = event.offset
                if let device = event.key.device { found.devices[device] = event.offset }
            }
            let reached = rows.count == Self.chunk ? last : min(cursor.position + LogReader.scanLimit, cursor.head)
            found.positions[cursor.partition] = reached
            if reached < cursor.head { isAtHead = false }
        }
        return (found, isAtHead)
    }

    private static let keepDevices = Statement(
        """
        INSERT INTO bus.revocations AS r (partition, key, log_offset)
        SELECT * FROM unnest($1::int4[], $2::text[], $3::int8[])
        ON CONFLICT (partition, key) DO UPDATE SET log_offset = excluded.log_offset, revoked_at = excluded.revoked_at
        WHERE r.log_offset < excluded.log_offset
        """)
    private static let keepPositions = Statement(
        """
        INSERT INTO bus.revocation_positions AS r (partition, log_offset) SELECT * FROM unnest($1::int4[], $2::int8[])
        ON CONFLICT (partition) DO UPDATE SET log_offset = greatest(r.log_offset, excluded.log_offset)
        """)

    /// Stores revocations and positions. Replicas may do so at the same time: the largest offset wins.
    ///
    /// - Parameter partitions: the number of partitions of the log.
    public func keep(_ found: Revocations, partitions: Int) async throws(PostgresError) {
        // All replicas use one order, so that they can't deadlock.
        let devices = found.devices.map { (key: AggregateKey.device($0.key), offset: $0.value) }
            .sorted { $0.key.description < $1.key.description }
        let positions = found.positions.sorted { $0.key < $1.key }
        _ = try await pool.execute([
            Query(Statement("BEGIN")),
            Query(
                Self.keepDevices, .int4s(devices.map { Int32($0.key.partition(of: partitions)) }),
                .texts(devices.map(\.key.description)), .ints(devices.map(\.offset))),
            Query(Self.keepPositions, .int4s(positions.map { Int32($0.key) }), .ints(positions.map(\.value))),
            Query(.commit),
        ])
    }

    /// Deletes revocations of an age that no token reaches.
    public func forget(olderThanDays days: Int) async throws(PostgresError) {
        let statement = Statement(
            "DELETE FROM bus.revocations WHERE revoked_at < now() - interval '1 day' * $1::integer")
        try await pool.execute(statement, .int4(Int32(days)))
    }
}
