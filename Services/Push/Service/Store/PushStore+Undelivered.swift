import Contracts
import EventLog
import Postgres
import PushCore

// Broadcasts that wait for a device: it failed to take them, or an older broadcast of the channel waits.
extension PushStore {
    /// A broadcast that waits for one device, while this process submits it again.
    struct Undelivered: Sendable {
        var relay: Relay
        var key: AggregateKey
        /// Whether APNs would not deliver it any more.
        var isExpired: Bool
        /// Whether the next failure is the last one.
        var isOverdue: Bool
    }

    /// A device that a broadcast has to wait for.
    struct Waiting: Sendable {
        var key: AggregateKey
        var reason: String
        /// False if the broadcast waits behind an older one. It is due as soon as that one is settled.
        var wasTried: Bool
    }

    /// Hours after which a failure is the last one (Apple, "Sending channel management requests to APNs": stored for 8
    /// hours).
    private static let storedHours = 8
    /// Minutes that a never-stored broadcast waits: one retry. Our choice.
    private static let fleetingMinutes = 2

    // Only the owner of the relay adds rows. After a stall past its lease the channel's next broadcast may be delivered
    // already. The row lock delays the end of the relay, and with it the next broadcast.
    private static let keep = Statement(
        """
        INSERT INTO push.undelivered_broadcasts (partition, key, channel, broadcast, reason, queued_time, retry_at)
        SELECT $1, w.key, r.channel, r.broadcast, w.reason, bus.suite_time(bus.real_now()),
            clock_timestamp() + CASE WHEN w.was_tried THEN interval '1 minute' ELSE interval '0' END
        FROM (
            SELECT channel, broadcast FROM push.broadcast_relays
            WHERE partition = $1 AND broadcast = $2 AND owner = $3 FOR KEY SHARE) AS r,
            unnest($4::text[], $5::text[], $6::boolean[]) AS w (key, reason, was_tried)
        ON CONFLICT (partition, key, channel, broadcast) DO NOTHING
        """)
    // One search of the primary key for each device.
    private static let behind = Statement(
        """
        SELECT DISTINCT key FROM push.undelivered_broadcasts
        WHERE partition = $1 AND channel = $2 AND broadcast < $3 AND key = ANY ($4)
        """)
    // The oldest of each device and channel, so that their order stays. The claim is a lease of a minute.
    private static let due = Statement(
        """
        WITH free AS (
            SELECT partition, key, channel, broadcast FROM push.undelivered_broadcasts AS u
            WHERE retry_at <= clock_timestamp() AND NOT EXISTS (
                SELECT FROM push.undelivered_broadcasts AS e
                WHERE e.partition = u.partition AND e.key = u.key AND e.channel = u.channel
                    AND e.broadcast < u.broadcast)
            ORDER BY retry_at LIMIT $1 FOR UPDATE SKIP LOCKED),
        claimed AS (
            UPDATE push.undelivered_broadcasts AS u SET retry_at = clock_timestamp() + interval '1 minute'
            FROM free WHERE u.partition = free.partition AND u.key = free.key AND u.channel = free.channel
                AND u.broadcast = free.broadcast
            RETURNING u.partition, u.key, u.broadcast, u.queued_at, u.queued_time)
        SELECT c.partition::int8, c.broadcast, c.key, \(messageColumns),
            coalesce(b.expiration <= suite.instant, false)
                OR b.never_stored AND age.milliseconds >= \(fleetingMinutes) * 60000,
            age.milliseconds >= \(storedHours) * 3600000
        FROM claimed AS c JOIN push.broadcasts AS b USING (broadcast)
            CROSS JOIN (SELECT bus.suite_time(bus.real_now()) AS instant) AS suite
            CROSS JOIN LATERAL (
                SELECT greatest(
                    suite.instant - c.queued_time, extract(epoch FROM clock_timestamp() - c.queued_at) * 1000)
                    AS milliseconds) AS age
        ORDER BY c.broadcast, c.key
        """)
    private static let note = Statement(
        """
        UPDATE push.undelivered_broadcasts SET reason = $4 WHERE partition = $1 AND broadcast = $2 AND key = $3
        """)
    private static let settle = Statement(
        "DELETE FROM push.undelivered_broadcasts WHERE partition = $1 AND broadcast = $2 AND key = $3")
    private static let giveUp = Statement(
        """
        INSERT INTO push.broadcast_dead_letters
            (partition, key, broadcast, environment, app, channel, request_id, reason, queued_at)
        SELECT u.partition, u.key, u.broadcast, b.environment, b.app, b.channel, b.request_id, $4, u.queued_at
        FROM push.undelivered_broadcasts AS u JOIN push.broadcasts AS b USING (broadcast)
        WHERE u.partition = $1 AND u.broadcast = $2 AND u.key = $3
        ON CONFLICT (partition, key, broadcast) DO NOTHING
        """)
    private static let forgetDeadLetters = Statement(
        "DELETE FROM push.broadcast_dead_letters WHERE given_up_at < clock_timestamp() - interval '30 days'")
    private static let count = Statement("SELECT count(*) FROM push.undelivered_broadcasts")

    /// Keeps a broadcast for devices. Does nothing if another process has claimed the relay.
    func keep(_ relay: Relay, for devices: [Waiting]) async throws(PostgresError) {
        guard !devices.isEmpty else { return }
        let columns: [Parameter] = [
            .texts(devices.map(\.key.description)), .texts(devices.map(\.reason)), .bools(devices.map(\.wasTried)),
        ]
        try await pool.execute(Self.keep, parameters(of: relay) + columns)
    }

    /// Returns the devices that an older broadcast of the channel waits for.
    ///
    /// The answer holds while the caller owns the relay: a relay is claimed only after the older ones of its channel
    /// have ended.
    func devicesBehind(_ relay: Relay, among keys: [AggregateKey]) async throws(PostgresError) -> Set<AggregateKey> {
        let rows = try await pool.execute(
            Self.behind, .partition(relay.partition), .text(relay.message.channel), .int(relay.broadcast),
            .texts(keys.map(\.description)))
        return Set(try rows.decode(AggregateKey.self))
    }

    /// Claims undelivered broadcasts that are due, for a minute: the oldest first.
    func claimUndelivered(limit: Int) async throws -> [Undelivered] {
        try await pool.execute(Self.due, .int(limit)).map { try Undelivered($0) }
    }

    /// Records why a device did not take its broadcast.
    func note(_ reason: String, _ device: Undelivered) async throws(PostgresError) {
        try await pool.execute(Self.note, device.parameters + [.text(reason)])
    }

    /// Ends the wait for a device.
    ///
    /// - Returns: false if another process has ended it.
    @discardableResult
    func settle(_ device: Undelivered) async throws(PostgresError) -> Bool {
        try await end(device.relay.broadcast, [Query(Self.settle, device.parameters)])[1].affected > 0
    }

    /// Ends the wait for a device, and records its broadcast as a dead letter.
    ///
    /// - Returns: false if another process has ended the wait.
    func giveUp(_ device: Undelivered, _ reason: String) async throws(PostgresError) -> Bool {
        let queries = [
            Query(Self.giveUp, device.parameters + [.text(reason)]), Query(Self.settle, device.parameters),
            Query(Self.forgetDeadLetters),
        ]
        return try await end(device.relay.broadcast, queries)[2].affected > 0
    }

    /// Returns how many broadcasts wait for a device, over all devices.
    func undelivered() async throws(PostgresError) -> Int {
        try await pool.execute(Self.count, rowsExpected: 1)[0].decode(Int.self)
    }
}

extension PushStore.Undelivered {
    /// - Parameter row: partition, broadcast, the device's key, ``PushStore/messageColumns``, and the two flags.
    init(_ row: Row) throws {
        relay = try PushStore.Relay(row)
        key = AggregateKey(relay.after)
        (isExpired, isOverdue) = try row.decode((Bool, Bool).self, at: 3 + PushStore.messageColumnCount)
    }

    fileprivate var parameters: [Parameter] { [.partition(relay.partition), .int(relay.broadcast), .key(key)] }
}
