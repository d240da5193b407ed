import Contracts
import EventLog
import Postgres

// Subscriptions to channels. Those of deleted channels name the devices to unsubscribe.
extension PushStore {
    /// The possible subscribers of a channel in a partition.
    struct Audience: Sendable, Equatable {
        var partition: Int
        var app: String
        var channel: String

        var parameters: [Parameter] { [.partition(partition), .text(app), .text(channel)] }
    }

    private static let subscribe = Statement(
        """
        INSERT INTO push.subscriptions (partition, app, channel, key) SELECT $1, $2, unnest($3), $4
        ON CONFLICT (partition, app, channel, key) DO UPDATE SET touched_at = clock_timestamp()
        """)
    // One index search for each audience, however many devices it has.
    private static let walk = Statement(
        """
        WITH RECURSIVE walk AS (
            (SELECT partition, app, channel, 1 AS n FROM push.subscriptions
            WHERE (partition, app, channel) > ($1, $2, $3) ORDER BY partition, app, channel LIMIT 1)
            UNION ALL
            SELECT next.partition, next.app, next.channel, walk.n + 1 FROM walk, LATERAL (
                SELECT partition, app, channel FROM push.subscriptions AS s
                WHERE (s.partition, s.app, s.channel) > (walk.partition, walk.app, walk.channel)
                ORDER BY partition, app, channel LIMIT 1) AS next
            WHERE walk.n < $4)
        SELECT partition::int8, app, channel FROM walk ORDER BY n
        """)
    private static let gone = Statement(
        """
        SELECT a.n FROM unnest($1::integer[], $2::text[], $3::text[]) WITH ORDINALITY AS a (home, app, channel, n)
        WHERE NOT EXISTS (
            SELECT FROM push.channels AS c WHERE c.partition = a.home AND c.environment IN ('sandbox', 'production')
                AND c.app = a.app AND c.channel = a.channel)
        ORDER BY a.n
        """)
    // Skips devices that a broadcast or a registration from before the deletion may still reach.
    private static let orphans = Statement(
        """
        SELECT key FROM push.subscriptions
        WHERE partition = $1 AND app = $2 AND channel = $3 AND touched_at < clock_timestamp() - interval '10 minutes'
            AND NOT EXISTS (SELECT FROM push.broadcast_relays AS r WHERE r.partition = $1 AND r.channel = $3)
            AND NOT EXISTS (
                SELECT FROM push.undelivered_broadcasts AS u WHERE u.partition = $1 AND u.key = subscriptions.key)
        ORDER BY key LIMIT $4
        """)
    private static let forget = Statement(
        "DELETE FROM push.subscriptions WHERE partition = $1 AND app = $2 AND channel = $3 AND key = ANY ($4)")

    /// Records that a device may be subscribed to channels, before its registration.
    func subscribe(_ key: AggregateKey, _ app: String, to channels: [String]) async throws(PostgresError) {
        // A fixed order prevents deadlocks between row locks.
        let sorted = Array(Set(channels)).sorted()
        guard !sorted.isEmpty else { return }
        try await pool.execute(
            Self.subscribe, .partition(key.partition(of: partitions)), .text(app), .texts(sorted), .key(key))
    }

    /// Returns the next audiences in key order.
    func audiences(after last: Audience?, limit: Int) async throws(PostgresError) -> [Audience] {
        let start = last ?? Audience(partition: -1, app: "", channel: "")
        return try await pool.execute(Self.walk, start.parameters + [.int(limit)]).decode((Int, String, String).self)
            .map { Audience(partition: $0, app: $1, channel: $2) }
    }

    /// Returns the audiences whose channel is deleted.
    func withoutChannel(_ audiences: [Audience]) async throws(PostgresError) -> [Audience] {
        let homes = audiences.map { Int32(partition(ofApp: $0.app)) }
        return try await pool.execute(
            Self.gone, .int4s(homes), .texts(audiences.map(\.app)), .texts(audiences.map(\.channel))
        ).decode(Int.self).map { audiences[$0 - 1] }
    }

    /// Returns devices of an audience without a channel.
    func orphans(_ audience: Audience, limit: Int) async throws(PostgresError) -> [AggregateKey] {
        try await pool.execute(Self.orphans, audience.parameters + [.int(limit)]).decode(AggregateKey.self)
    }

    func forget(_ keys: [AggregateKey], of audience: Audience) async throws(PostgresError) {
        try await pool.execute(Self.forget, audience.parameters + [.texts(keys.map(\.description))])
    }
}
