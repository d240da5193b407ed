import Contracts
import Postgres

/// Broadcasts that one device could not take: kept for it until it takes them or turns them down.
extension BroadcastOutbox {
    private static let keep = Statement(
        """
        INSERT INTO push.undelivered_broadcasts (partition, broadcast, key, reason)
        SELECT $1, $2, u.key, u.reason FROM unnest($3::text[], $4::text[]) AS u (key, reason)
        ON CONFLICT (partition, key, broadcast) DO NOTHING
        """)
    // Of each device the oldest, so that the order of broadcasts stays. Who claims one has a minute to hand it over.
    private static let due = Statement(
        """
        WITH free AS (
            SELECT partition, broadcast, key FROM push.undelivered_broadcasts AS u
            WHERE retry_at <= clock_timestamp() AND NOT EXISTS (
                SELECT FROM push.undelivered_broadcasts AS e
                WHERE e.partition = u.partition AND e.key = u.key AND e.broadcast < u.broadcast)
            ORDER BY retry_at LIMIT $1 FOR UPDATE SKIP LOCKED),
        claimed AS (
            UPDATE push.undelivered_broadcasts AS u SET retry_at = clock_timestamp() + interval '1 minute'
            FROM free WHERE u.partition = free.partition AND u.broadcast = free.broadcast AND u.key = free.key
            RETURNING u.partition, u.broadcast, u.key)
        SELECT c.partition::int8, c.broadcast, c.key, \(columns)
        FROM claimed AS c JOIN push.broadcasts AS b USING (broadcast)
        """)
    private static let note = Statement(
        """
        UPDATE push.undelivered_broadcasts SET reason = $4 WHERE partition = $1 AND broadcast = $2 AND key = $3
        """)
    private static let settle = Statement(
        "DELETE FROM push.undelivered_broadcasts WHERE partition = $1 AND broadcast = $2 AND key = $3")
    private static let count = Statement("SELECT count(*) FROM push.undelivered_broadcasts")

    /// Keeps a broadcast for devices that can't take it now.
    ///
    /// - Parameter devices: each with the reason.
    func keep(_ relay: Relay, for devices: [(key: AggregateKey, reason: String)]) async throws(PostgresError) {
        guard !devices.isEmpty else { return }
        _ = try await pool.run(
            Call(
                Self.keep,
                [
                    .int4(Int32(relay.partition)), .int(relay.broadcast), .texts(devices.map(\.key.description)),
                    .texts(devices.map(\.reason)),
                ]))
    }

    /// Takes on broadcasts that are to be handed over again; `after` of each names its device.
    func claimUndelivered(limit: Int) async throws -> [Relay] {
        try await pool.run(Call(Self.due, [.int(limit)])).map { try Relay($0) }
    }

    private func place(of device: Relay) -> [Parameter] {
        [.int4(Int32(device.partition)), .int(device.broadcast), .text(device.after)]
    }

    /// Notes why a device could not take its broadcast again.
    func note(_ reason: String, _ device: Relay) async throws(PostgresError) {
        _ = try await pool.run(Call(Self.note, place(of: device) + [.text(reason)]))
    }

    /// The device took its broadcast, or turned it down.
    func settle(_ device: Relay) async throws(PostgresError) {
        let broadcast = Parameter.int(device.broadcast)
        _ = try await pool.run([
            Call(Self.lock, [broadcast]), Call(Self.settle, place(of: device)), Call(Self.sweep, [broadcast]),
        ])
    }

    /// How many devices wait for a broadcast, each counted for each of its broadcasts.
    func undelivered() async throws(PostgresError) -> Int {
        try await pool.run(Call(Self.count, rowsExpected: 1))[0].int(0)
    }
}
