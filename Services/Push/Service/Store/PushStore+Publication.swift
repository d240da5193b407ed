import EventLog
import Foundation
import Postgres
import PushCore
import Records
import ServiceKit

// The acceptance of broadcasts.
extension PushStore {
    /// The largest number of waiting broadcasts of a channel. Our choice.
    static let waitingLimit = 1000

    private static let waiting = Statement(
        """
        SELECT coalesce(max(n), 0)::int8 FROM generate_series(0, $2 - 1) AS p, LATERAL (SELECT count(*) AS n FROM (
            SELECT FROM push.broadcast_relays AS r WHERE r.partition = p AND r.channel = $1 LIMIT $3) AS few) AS counted
        """)
    // One statement, so one transaction: the broadcast, and a relay for each partition with a possible subscriber. The
    // row lock of the channel makes the numbers of its broadcasts ascend in commit order.
    private static let publish = Statement(
        """
        WITH channel AS (
            SELECT channel FROM push.channels
            WHERE partition = $1 AND environment = $2 AND app = $3 AND channel = $4 FOR UPDATE),
        targets AS (
            SELECT p FROM generate_series(0, $11 - 1) AS p
            WHERE EXISTS (SELECT FROM push.subscriptions AS s WHERE s.partition = p AND s.app = $3 AND s.channel = $4)),
        inserted AS (
            INSERT INTO push.broadcasts (environment, app, channel, request_id, priority, expiration, never_stored,
                payload, traceparent, actor)
            SELECT $2, $3, channel, $5, $6, $7, $8, $9, $10, $12 FROM channel WHERE EXISTS (SELECT FROM targets)
            RETURNING broadcast),
        relays AS (
            INSERT INTO push.broadcast_relays (partition, broadcast, channel)
            SELECT p, broadcast, $4 FROM inserted, targets)
        SELECT channel FROM channel
        """)

    /// Returns whether a channel has ``waitingLimit`` waiting broadcasts in a partition.
    func isFull(_ channel: ChannelID) async throws(PostgresError) -> Bool {
        let waiting = try await pool.execute(
            Self.waiting, .text(channel.description), .int4(Int32(partitions)), .int(Self.waitingLimit), rowsExpected: 1
        )
        return try waiting[0].decode(Int.self) >= Self.waitingLimit
    }

    /// Commits a broadcast and its relays.
    ///
    /// - Returns: false if the channel does not exist.
    func publish(_ broadcast: IncomingBroadcast, by requester: Requester) async throws -> Bool {
        let rest: [Parameter] = [
            .text(broadcast.channel), .uuid(UUID(uuidString: broadcast.requestID)),
            .int4(Int32(broadcast.priority)), .instant(broadcast.expiration), .bool(broadcast.neverStored),
            .bytes(broadcast.payload.bytes), .text(requester.traceparent), .int4(Int32(partitions)),
            .text(requester.actor),
        ]
        return try await !pool.execute(Self.publish, parameters(broadcast.app, broadcast.environment) + rest).isEmpty
    }
}
