import Contracts
import EventLog
import Foundation
import Machines
import Postgres
import PushCore
import Records
import ServiceKit
import Timeline

// The transactional outbox of accepted broadcasts.
extension PushStore {
    /// The part of a broadcast for one partition, leased by this process.
    struct Relay: Sendable {
        var broadcast: Int
        var partition: Int
        /// The last device key that is done.
        var after: String
        var message: IncomingBroadcast
        var requester: Requester

        fileprivate var audience: Audience {
            Audience(partition: partition, app: message.app, channel: message.channel)
        }
    }

    /// The lease of a claimed relay. Progress renews it.
    private static let relayLease = "interval '10 seconds'"

    /// The columns of a message.
    static let messageColumns = """
        b.environment, b.app, b.channel, b.request_id, b.priority::int8, b.expiration, b.never_stored, b.payload,
            b.traceparent, b.actor
        """

    /// The number of ``messageColumns``.
    static let messageColumnCount = 10

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
            UPDATE push.broadcast_relays AS r SET owner = $1, leased_until = clock_timestamp() + \(relayLease)
            FROM free WHERE r.partition = free.partition AND r.broadcast = free.broadcast
            RETURNING r.partition, r.broadcast, r.after)
        SELECT c.partition::int8, c.broadcast, c.after, \(messageColumns)
        FROM claimed AS c JOIN push.broadcasts AS b USING (broadcast)
        """)
    private static let advance = Statement(
        """
        UPDATE push.broadcast_relays SET after = $4, leased_until = clock_timestamp() + \(relayLease)
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
    private static let lock = Statement("SELECT FROM push.broadcasts WHERE broadcast = $1 FOR UPDATE")
    private static let sweep = Statement(
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
        try await pool.execute(Self.claim, .uuid(owner), .int(limit)).map { try Relay($0) }
    }

    /// Returns the parameters of a relay under the lease of this process.
    func parameters(of relay: Relay) -> [Parameter] {
        [.partition(relay.partition), .int(relay.broadcast), .uuid(owner)]
    }

    /// Returns the next possible subscribers of the channel.
    func candidates(_ relay: Relay, limit: Int) async throws(PostgresError) -> [AggregateKey] {
        try await pool.execute(Self.candidates, relay.audience.parameters + [.text(relay.after), .int(limit)])
            .decode(AggregateKey.self)
    }

    /// Deletes the subscriptions of devices that are not subscribed to the channel.
    func forget(_ keys: [AggregateKey], _ relay: Relay) async throws(PostgresError) {
        guard !keys.isEmpty else { return }
        try await pool.execute(Self.forget, relay.audience.parameters + [.texts(keys.map(\.description))])
    }

    /// Records the progress of a relay and renews its lease.
    ///
    /// - Returns: false if another process has claimed it.
    func advance(_ relay: Relay) async throws(PostgresError) -> Bool {
        try await pool.execute(Self.advance, parameters(of: relay) + [.text(relay.after)]).affected > 0
    }

    /// Shortens the lease, so that any process can retry in a second.
    func release(_ relay: Relay) async throws(PostgresError) {
        try await pool.execute(Self.release, parameters(of: relay))
    }

    /// Deletes a completed relay, and its broadcast after the last one.
    func finish(_ relay: Relay) async throws(PostgresError) {
        _ = try await end(relay.broadcast, [Query(Self.finish, parameters(of: relay))])
    }

    /// Executes the end of a relay, or of the wait for a device. Deletes the broadcast after the last one.
    func end(_ broadcast: Int, _ queries: [Query]) async throws(PostgresError) -> [Rows] {
        let broadcast = Parameter.int(broadcast)
        return try await pool.execute([Query(Self.lock, [broadcast])] + queries + [Query(Self.sweep, [broadcast])])
    }
}

extension PushStore.Relay {
    /// - Parameter row: partition, broadcast, the last key that is done, and ``PushStore/messageColumns``. More may follow.
    init(_ row: Row) throws {
        let (environment, app, channel, request, priority, expiration, neverStored, payload, traceparent, actor) =
            try row.decode((String, String, String, UUID, Int, Instant?, Bool, [UInt8], String?, String?).self, at: 3)
        message = IncomingBroadcast(
            app: app, channel: channel, environment: PushEnvironment(rawValue: environment) ?? .sandbox,
            requestID: request.lowercased, priority: priority, expiration: expiration, neverStored: neverStored,
            payload: try JSON(parsing: payload))
        (partition, broadcast, after) = try row.decode((Int, Int, String).self, at: 0)
        requester = Requester(traceparent: traceparent, actor: actor)
    }
}
