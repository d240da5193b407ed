import Contracts
import EventLog
import Postgres
import PushCore

// The channels of apps.
extension PushStore {
    /// The largest number of channels of an app in each environment (Apple, "Sending channel management requests to
    /// APNs").
    static let channelLimit = 10_000

    /// Returns the partition of an app's channels.
    func partition(ofApp app: String) -> Int { AggregateKey("app:" + app).partition(of: partitions) }

    func parameters(_ app: String, _ environment: PushEnvironment) -> [Parameter] {
        [.partition(partition(ofApp: app)), .text(environment.rawValue), .text(app)]
    }

    private static let add = Statement(
        """
        WITH counted AS (
            INSERT INTO push.channel_counts AS c (partition, environment, app, channels) VALUES ($1, $2, $3, 1)
            ON CONFLICT (partition, environment, app) DO UPDATE SET channels = c.channels + 1 WHERE c.channels < $6
            RETURNING 1)
        INSERT INTO push.channels (partition, environment, app, channel, policy, creator)
        SELECT $1, $2, $3, $4, $5, $7 FROM counted
        """)
    private static let remove = Statement(
        """
        WITH removed AS (
            DELETE FROM push.channels WHERE partition = $1 AND environment = $2 AND app = $3 AND channel = $4
                AND ($5 IS NULL OR creator = $5)
            RETURNING 1)
        UPDATE push.channel_counts SET channels = channels - 1
        WHERE partition = $1 AND environment = $2 AND app = $3 AND EXISTS (SELECT FROM removed)
        """)
    private static let look = Statement(
        """
        SELECT channel, policy FROM push.channels
        WHERE partition = $1 AND environment = $2 AND app = $3 AND channel = ANY ($4) AND ($5 IS NULL OR creator = $5)
        """)
    private static let all = Statement(
        """
        SELECT channel FROM push.channels
        WHERE partition = $1 AND environment = $2 AND app = $3 AND ($4 IS NULL OR creator = $4)
        ORDER BY created_at, channel
        """)

    /// - Parameters:
    ///   - creator: the ``ProviderGrant/actor``.
    ///   - audit: the entry of the audit trail; added with the channel.
    /// - Returns: false if the app has ``channelLimit`` channels.
    func add(
        _ channel: ChannelID, _ configuration: ChannelConfiguration, _ app: String, _ environment: PushEnvironment,
        by creator: String, audit: AuditEntry
    ) async throws -> Bool {
        let rest: [Parameter] = [
            .text(channel.description), .int4(configuration.stores ? 1 : 0), .int4(Int32(Self.channelLimit)),
            .text(creator),
        ]
        return try await change(Query(Self.add, parameters(app, environment) + rest), audit)
    }

    /// Deletes a channel. Pending broadcasts still reach their devices (Apple: "Deleting a channel doesn't discard
    /// pending messages immediately"). ``Upkeep`` unsubscribes the devices later.
    ///
    /// - Parameters:
    ///   - creator: the provider that must have created it; nil for any.
    ///   - audit: the entry of the audit trail; added if the channel existed.
    /// - Returns: whether the channel existed.
    func remove(
        _ channel: ChannelID, _ app: String, _ environment: PushEnvironment, of creator: String?, audit: AuditEntry
    ) async throws -> Bool {
        let rest: [Parameter] = [.text(channel.description), .text(creator)]
        return try await change(Query(Self.remove, parameters(app, environment) + rest), audit)
    }

    /// Changes rows and adds an entry to the audit trail, or neither.
    private func change(_ query: Query, _ audit: AuditEntry) async throws -> Bool {
        try await pool.transaction { connection in
            guard try await connection.execute(query).affected > 0 else { return false }
            _ = try await connection.execute(audit.query)
            return true
        }
    }

    /// - Parameter creator: the provider that must have created it; nil for any.
    /// - Returns: nil if the channel does not exist.
    func configuration(
        of channel: ChannelID, _ app: String, _ environment: PushEnvironment, by creator: String?
    ) async throws(PostgresError) -> ChannelConfiguration? {
        try await found([channel.description], app, environment, by: creator).first.map {
            ChannelConfiguration(stores: $1 == 1)
        }
    }

    /// Returns the channels that do not exist.
    func unknown(
        of channels: [String], _ app: String, _ environment: PushEnvironment
    ) async throws(PostgresError) -> Set<String> {
        guard !channels.isEmpty else { return [] }
        return Set(channels).subtracting(try await found(channels, app, environment).map(\.0))
    }

    private func found(
        _ channels: [String], _ app: String, _ environment: PushEnvironment, by creator: String? = nil
    ) async throws(PostgresError) -> [(String, Int)] {
        let rest: [Parameter] = [.texts(channels), .text(creator)]
        return try await pool.execute(Self.look, parameters(app, environment) + rest).decode((String, Int).self)
    }

    /// Returns the channels of an app, the oldest first.
    ///
    /// - Parameter creator: the provider that must have created them; nil for any.
    func channels(
        of app: String, _ environment: PushEnvironment, by creator: String?
    ) async throws(PostgresError) -> [String] {
        try await pool.execute(Self.all, parameters(app, environment) + [.text(creator)])
            .decode(String.self)
    }
}
