import Contracts
import Foundation
import Machines
import Postgres
import PushMachine
import Records
import Timeline

/// The SQL of channels, subscriptions and accepted broadcasts.
struct ChannelTables: Sendable {
    /// The largest number of channels of an app in each environment (Apple, "Sending channel management requests to
    /// APNs").
    static let channelLimit = 10_000

    /// The largest number of waiting broadcasts of a channel. Our choice.
    static let waitingLimit = 1000

    let pool: ConnectionPool
    let partitions: Int

    private func keyParameters(_ app: String, _ environment: PushEnvironment) -> [Parameter] {
        let home = AggregateKey("app:" + app).partition(of: partitions)
        return [.int4(Int32(home)), .text(environment.rawValue), .text(app)]
    }

    // MARK: Channels

    private static let add = Statement(
        """
        WITH counted AS (
            INSERT INTO push.channel_counts AS c (partition, environment, app, channels) VALUES ($1, $2, $3, 1)
            ON CONFLICT (partition, environment, app) DO UPDATE SET channels = c.channels + 1 WHERE c.channels < $6
            RETURNING 1)
        INSERT INTO push.channels (partition, environment, app, channel, policy)
        SELECT $1, $2, $3, $4, $5 FROM counted
        """)
    private static let remove = Statement(
        """
        WITH removed AS (
            DELETE FROM push.channels WHERE partition = $1 AND environment = $2 AND app = $3 AND channel = $4
            RETURNING 1)
        UPDATE push.channel_counts SET channels = channels - 1
        WHERE partition = $1 AND environment = $2 AND app = $3 AND EXISTS (SELECT FROM removed)
        """)
    private static let look = Statement(
        """
        SELECT channel, policy FROM push.channels
        WHERE partition = $1 AND environment = $2 AND app = $3 AND channel = ANY ($4)
        """)
    private static let all = Statement(
        """
        SELECT channel FROM push.channels
        WHERE partition = $1 AND environment = $2 AND app = $3 ORDER BY created_at, channel
        """)

    /// - Returns: false if the app has ``channelLimit`` channels.
    func add(
        _ channel: ChannelID, _ configuration: ChannelConfiguration, _ app: String, _ environment: PushEnvironment
    ) async throws(PostgresError) -> Bool {
        let rest: [Parameter] = [
            .text(channel.description), .int4(configuration.stores ? 1 : 0), .int4(Int32(Self.channelLimit)),
        ]
        return try await pool.execute(Query(Self.add, keyParameters(app, environment) + rest)).affected > 0
    }

    /// Deletes a channel. Pending broadcasts still reach their devices (Apple: "Deleting a channel doesn't discard
    /// pending messages immediately"). ``Upkeep`` unsubscribes the devices later.
    ///
    /// - Returns: whether the channel existed.
    func remove(
        _ channel: ChannelID, _ app: String, _ environment: PushEnvironment
    ) async throws(PostgresError) -> Bool {
        let keyParameters = keyParameters(app, environment) + [.text(channel.description)]
        return try await pool.execute(Query(Self.remove, keyParameters)).affected > 0
    }

    func configuration(
        of channel: ChannelID, _ app: String, _ environment: PushEnvironment
    ) async throws(PostgresError) -> ChannelConfiguration? {
        let rows = try await pool.execute(
            Query(Self.look, keyParameters(app, environment) + [.texts([channel.description])]))
        return try rows.first.map { row throws(PostgresError) in ChannelConfiguration(stores: try row.int(1) == 1) }
    }

    /// Returns the channels that do not exist.
    func unknown(
        of channels: [String], _ app: String, _ environment: PushEnvironment
    ) async throws(PostgresError) -> Set<String> {
        guard !channels.isEmpty else { return [] }
        let rows = try await pool.execute(Query(Self.look, keyParameters(app, environment) + [.texts(channels)]))
        return Set(channels).subtracting(try rows.map { row throws(PostgresError) in try row.text(0) })
    }

    /// Returns all channels of an app, the oldest first.
    func channels(of app: String, _ environment: PushEnvironment) async throws(PostgresError) -> [String] {
        let rows = try await pool.execute(Query(Self.all, keyParameters(app, environment)))
        return try rows.map { row throws(PostgresError) in try row.text(0) }
    }

    // MARK: Subscriptions

    private static let subscribe = Statement(
        """
        INSERT INTO push.subscriptions (partition, app, channel, key) SELECT $1, $2, unnest($3), $4
        ON CONFLICT (partition, app, channel, key) DO UPDATE SET touched_at = clock_timestamp()
        """)

    /// Records that a device may be subscribed to channels, before its registration.
    func subscribe(_ key: AggregateKey, _ app: String, to channels: [String]) async throws(PostgresError) {
        // A fixed order prevents deadlocks between row locks.
        let sorted = Array(Set(channels)).sorted()
        guard !sorted.isEmpty else { return }
        let partition = Parameter.int4(Int32(key.partition(of: partitions)))
        _ = try await pool.execute(
            Query(Self.subscribe, [partition, .text(app), .texts(sorted), .text(key.description)]))
    }

    // MARK: Broadcasts

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
                payload, traceparent)
            SELECT $2, $3, channel, $5, $6, $7, $8, $9, $10 FROM channel WHERE EXISTS (SELECT FROM targets)
            RETURNING broadcast),
        relays AS (
            INSERT INTO push.broadcast_relays (partition, broadcast, channel)
            SELECT p, broadcast, $4 FROM inserted, targets)
        SELECT channel FROM channel
        """)

    /// Returns whether a channel has ``waitingLimit`` waiting broadcasts in a partition.
    func isFull(_ channel: ChannelID) async throws(PostgresError) -> Bool {
        let limit = Parameter.int(Self.waitingLimit)
        let rows = try await pool.execute(
            Query(Self.waiting, [.text(channel.description), .int4(Int32(partitions)), limit], rowsExpected: 1))
        return try rows[0].int(0) >= Self.waitingLimit
    }

    /// Commits a broadcast and its relays.
    ///
    /// - Returns: false if the channel does not exist.
    func publish(_ broadcast: IncomingBroadcast, traceparent: String) async throws -> Bool {
        let expiration = broadcast.expiration.map { Int($0.milliseconds) }
        let rest: [Parameter] = [
            .text(broadcast.channel), .uuid(UUID(uuidString: broadcast.requestID)),
            .int4(Int32(broadcast.priority)), .int(expiration), .bool(broadcast.neverStored),
            .bytes(broadcast.payload.bytes), .text(traceparent), .int4(Int32(partitions)),
        ]
        let rows = try await pool.execute(
            Query(Self.publish, keyParameters(broadcast.app, broadcast.environment) + rest))
        return rows.first != nil
    }
}
