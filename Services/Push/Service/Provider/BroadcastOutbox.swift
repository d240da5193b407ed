import Contracts
import Foundation
import Machines
import Postgres
import PushMachine
import Records
import Timeline

/// The transactional outbox of accepted broadcasts.
struct BroadcastOutbox: Sendable {
    /// The part of a broadcast for one partition, leased by this process.
    struct Relay: Sendable {
        var broadcast: Int
        var partition: Int
        /// The last device key that is done.
        var after: String
        var message: IncomingBroadcast
        var traceparent: String
    }

    let pool: ConnectionPool
    /// The id of this process as the owner of leases.
    let owner = UUID.random()

    /// The lease of a claimed relay. Progress renews it.
    private static let lease = "interval '10 seconds'"

    /// The columns of a message.
    static let columns = """
        b.environment, b.app, b.channel, b.request_id, b.priority::int8, b.expiration, b.never_stored, b.payload,
            b.traceparent
        """

    // The oldest broadcast of a channel goes first in each partition, so that devices store the latest one.
    private static let claim = Statement(
        """
        WITH free AS (
            SELECT partition, broadcast FROM push.broadcast_relays AS r
            WHERE leased_until < clock_timestamp() AND NOT EXISTS (
                SELECT FROM push.broadcast_relays AS e
                WHERE e.partition = r.partition AND e.channel = r.channel AND e.broadcast < r.broadcast)
            ORDER BY broadcast, partition LIMIT $2 FOR UPDATE SKIP LOCKED),
        claimed AS (
            UPDATE push.broadcast_relays AS r SET owner = $1, leased_until = clock_timestamp() + \(lease)
            FROM free WHERE r.partition = free.partition AND r.broadcast = free.broadcast
            RETURNING r.partition, r.broadcast, r.after)
        SELECT c.partition::int8, c.broadcast, c.after, \(columns)
        FROM claimed AS c JOIN push.broadcasts AS b USING (broadcast)
        """)
    private static let advance = Statement(
        """
        UPDATE push.broadcast_relays SET after = $4, leased_until = clock_timestamp() + \(lease)
        WHERE partition = $1 AND broadcast = $2 AND owner = $3
        """)
    private static let release = Statement(
        """
        UPDATE push.broadcast_relays SET leased_until = clock_timestamp() + interval '1 second'
        WHERE partition = $1 AND broadcast = $2 AND owner = $3
        """)
    private static let finish = Statement(
        "DELETE FROM push.broadcast_relays WHERE partition = $1 AND broadcast = $2 AND owner = $3")
    // Serializes the ends of the last two relays, so that the second one deletes the broadcast.
    static let lock = Statement("SELECT FROM push.broadcasts WHERE broadcast = $1 FOR UPDATE")
    static let sweep = Statement(
        """
        DELETE FROM push.broadcasts WHERE broadcast = $1
            AND NOT EXISTS (SELECT FROM push.broadcast_relays WHERE broadcast = $1)
            AND NOT EXISTS (SELECT FROM push.undelivered_broadcasts WHERE broadcast = $1)
        """)
    private static let candidates = Statement(
        """
        SELECT key FROM push.subscriptions WHERE partition = $1 AND app = $2 AND channel = $3 AND key > $4
        ORDER BY key LIMIT $5
        """)
    // A registration writes its row first, and takes less than ten minutes.
    private static let forget = Statement(
        """
        DELETE FROM push.subscriptions WHERE partition = $1 AND app = $2 AND channel = $3 AND key = ANY ($4)
            AND touched_at < clock_timestamp() - interval '10 minutes'
        """)

    /// Claims relays that no process works on.
    func claim(limit: Int) async throws -> [Relay] {
        try await pool.execute(Query(Self.claim, [.uuid(owner), .int(limit)])).map { try Relay($0) }
    }

    private func keyParameters(_ relay: Relay) -> [Parameter] {
        [.int4(Int32(relay.partition)), .int(relay.broadcast), .uuid(owner)]
    }

    private func channel(_ relay: Relay) -> [Parameter] {
        [.int4(Int32(relay.partition)), .text(relay.message.app), .text(relay.message.channel)]
    }

    /// Returns the next possible subscribers of the channel.
    func candidates(_ relay: Relay, limit: Int) async throws(PostgresError) -> [AggregateKey] {
        let rows = try await pool.execute(Query(Self.candidates, channel(relay) + [.text(relay.after), .int(limit)]))
        return try rows.map { row throws(PostgresError) in AggregateKey(try row.text(0)) }
    }

    /// Deletes the subscriptions of devices that are not subscribed to the channel.
    func forget(_ keys: [AggregateKey], _ relay: Relay) async throws(PostgresError) {
        guard !keys.isEmpty else { return }
        _ = try await pool.execute(Query(Self.forget, channel(relay) + [.texts(keys.map(\.description))]))
    }

    /// Records the progress of a relay and renews its lease.
    ///
    /// - Returns: false if another process has claimed it.
    func advance(_ relay: Relay) async throws(PostgresError) -> Bool {
        try await pool.execute(Query(Self.advance, keyParameters(relay) + [.text(relay.after)])).affected > 0
    }

    /// Shortens the lease, so that any process can retry in a second.
    func release(_ relay: Relay) async throws(PostgresError) {
        _ = try await pool.execute(Query(Self.release, keyParameters(relay)))
    }

    /// Deletes a completed relay, and its broadcast after the last one.
    func finish(_ relay: Relay) async throws(PostgresError) {
        let broadcast = Parameter.int(relay.broadcast)
        _ = try await pool.execute([
            Query(Self.lock, [broadcast]), Query(Self.finish, keyParameters(relay)), Query(Self.sweep, [broadcast]),
        ])
    }
}

extension BroadcastOutbox.Relay {
    /// - Parameter row: partition, broadcast, the last key that is done, and ``BroadcastOutbox/columns``.
    init(_ row: Row) throws {
        let message = IncomingBroadcast(
            app: try row.text(4), channel: try row.text(5),
            environment: PushEnvironment(rawValue: try row.text(3)) ?? .sandbox,
            requestID: try row.uuid(6).lowercased, priority: try row.int(7),
            expiration: try row.optionalInt(8).map { Instant(milliseconds: Int64($0)) },
            neverStored: try row.bool(9), payload: try JSON(parsing: try row.bytes(10)))
        self.init(
            broadcast: try row.int(1), partition: try row.int(0), after: try row.text(2), message: message,
            traceparent: try row.text(11))
    }
}
