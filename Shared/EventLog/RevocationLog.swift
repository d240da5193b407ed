import Contracts
public import Postgres
public import Timeline

/// Which devices' tokens were voided, and up to where the log was read for that.
public struct Revocations: Sendable, Equatable {
    /// By device: the place in its partition before which its tokens were issued that are void.
    public var devices: [String: Int]
    /// The real time of each revocation, by device; nil for one that was just read from the log.
    public var times: [String: Instant] = [:]
    /// By partition: the last offset that was looked at.
    public var positions: [Int: Int]

    public init(devices: [String: Int] = [:], positions: [Int: Int] = [:]) {
        self.devices = devices
        self.positions = positions
    }
}

/// What the log, and the table that outlives its retention, say of void tokens.
public struct RevocationLog: Sendable {
    private static let types = [LifecycleEvent.DeviceRevoked.type, LifecycleEvent.DeviceDeregistered.type]
    private static let chunk = 500

    private let pool: ConnectionPool

    public init(pool: ConnectionPool) { self.pool = pool }

    private static let positions = Statement(
        """
        SELECT p.partition::int8, coalesce(r.log_offset, 0)
        FROM bus.partitions AS p LEFT JOIN bus.revocations_read AS r USING (partition)
        """)
    private static let devices = Statement("SELECT key, log_offset, revoked_at FROM bus.revocations")

    /// What the table says.
    public func kept() async throws(PostgresError) -> Revocations {
        // The positions first: the table has everything up to them, and perhaps more.
        let rows = try await pool.run([Call(Self.positions), Call(Self.devices)])
        var kept = Revocations()
        for row in rows[0] { kept.positions[try row.int(0)] = try row.int(1) }
        for row in rows[1] {
            guard let device = AggregateKey(try row.text(0)).device else { continue }
            kept.devices[device] = try row.int(1)
            kept.times[device] = Instant(milliseconds: try row.timestampMilliseconds(2))
        }
        return kept
    }

    /// Reads on in the log behind some positions, a bounded step in each partition.
    ///
    /// - Returns: what is new, how far the step went, and whether that was the head everywhere.
    public func read(after positions: [Int: Int]) async throws(PostgresError) -> (found: Revocations, isAtHead: Bool) {
        var found = Revocations(positions: positions)
        var isAtHead = true
        // The heads were read before the events, and commit order is offset order: up to there nothing is missing.
        var behind: [(partition: Int, position: Int, head: Int)] = []
        for row in try await pool.run(Call(LogReader.heads)) {
            let (partition, head) = (try row.int(0), try row.int(1))
            let position = positions[partition, default: 0]
            if position < head { behind.append((partition, position, head)) }
        }
        guard !behind.isEmpty else { return (found, true) }
        let calls = behind.map {
            Call(
                LogReader.following,
                [.int4(Int32($0.partition)), .int($0.position), .texts(Self.types), .int(Self.chunk)])
        }
        for (place, rows) in zip(behind, try await pool.run(calls)) {
            var last = 0
            for row in rows {
                let event = try LogReader.event(row)
                last = event.offset
                if let device = event.key.device { found.devices[device] = event.offset }
            }
            let reached = rows.count == Self.chunk ? last : min(place.position + LogReader.reach, place.head)
            found.positions[place.partition] = reached
            if reached < place.head { isAtHead = false }
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
        INSERT INTO bus.revocations_read AS r (partition, log_offset) SELECT * FROM unnest($1::int4[], $2::int8[])
        ON CONFLICT (partition) DO UPDATE SET log_offset = greatest(r.log_offset, excluded.log_offset)
        """)

    /// Writes what was found, and then how far. Replicas may do it at once: the later word holds.
    ///
    /// - Parameter partitions: the log's number of partitions.
    public func keep(_ found: Revocations, partitions: Int) async throws(PostgresError) {
        // In one order, so that no two replicas wait for each other.
        let devices = found.devices.map { (key: AggregateKey.device($0.key), offset: $0.value) }
            .sorted { $0.key.description < $1.key.description }
        let positions = found.positions.sorted { $0.key < $1.key }
        _ = try await pool.run([
            Call(Statement("BEGIN")),
            Call(
                Self.keepDevices,
                [
                    .int4s(devices.map { Int32($0.key.partition(of: partitions)) }),
                    .texts(devices.map(\.key.description)), .ints(devices.map(\.offset)),
                ]),
            Call(Self.keepPositions, [.int4s(positions.map { Int32($0.key) }), .ints(positions.map(\.value))]),
            Call(.commit),
        ])
    }

    /// Deletes what is older than any token can be.
    public func forget(olderThanDays days: Int) async throws(PostgresError) {
        let statement = Statement(
            "DELETE FROM bus.revocations WHERE revoked_at < now() - interval '1 day' * $1::integer")
        _ = try await pool.run(Call(statement, [.int4(Int32(days))]))
    }
}
