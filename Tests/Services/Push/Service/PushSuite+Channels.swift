import Contracts
import Logging
import Postgres
import Records
import TestSupport
import Testing

extension PushSuite {
    static let app = "com.example.app"

    /// Sends a request of a provider about channels.
    func channels(
        _ method: String, _ path: String, _ body: JSON? = nil, port: Int? = nil, _ headers: [String: String] = [:]
    ) async throws -> Answer {
        var all = ["authorization": "bearer \(try await bearer())"]
        all.merge(headers) { $1 }
        return try await send(method, path, body, port: port, all.filter { $0.value != "none" })
    }

    /// - Returns: the id of a new channel.
    func makeChannel(stores: Bool, app: String = app) async throws -> String {
        let made = try await channels(
            "POST", "/1/apps/\(app)/channels",
            ["message-storage-policy": .int(stores ? 1 : 0), "push-type": "LiveActivity"])
        #expect(made.status == 201)
        return try #require(made.headers["apns-channel-id"])
    }

    func broadcast(
        _ channel: String, _ text: String, port: Int? = nil, _ headers: [String: String] = [:]
    ) async throws -> Answer {
        var all = ["apns-channel-id": channel, "apns-push-type": "liveactivity"]
        all.merge(headers) { $1 }
        return try await channels(
            "POST", "/4/broadcasts/apps/\(Self.app)", ["aps": ["event": "update"], "text": .string(text)], port: port,
            all)
    }

    func subscribe(_ device: String, to channels: [String]) async throws -> Answer {
        try await whileOnScreen(device) {
            try await send(
                "PUT", "/v1/devices/\(device)/apps/\(Self.app)/registration",
                ["environment": "sandbox", "channels": .array(channels.map { .string($0) })])
        }
    }

    /// Connects to the database as its owner.
    func withDatabase<Value: Sendable>(
        _ body: @Sendable (ConnectionPool) async throws -> Value
    ) async throws -> Value {
        let pool = ConnectionPool(try ConnectionOptions(url: url), size: 2, logger: .init(label: "test"))
        do {
            let value = try await body(pool)
            await pool.close()
            return value
        } catch {
            await pool.close()
            throw error
        }
    }

    /// Returns the texts of the broadcasts that each device received, in order, from the log.
    func received() async throws -> [String: [String]] {
        try await withDatabase { pool in
            let rows = try await pool.execute(
                Query(
                    Statement(
                        """
                        SELECT key, data -> 'payload' ->> 'text' FROM bus.events
                        WHERE type = 'push.notification.received' AND data ->> 'channel' IS NOT NULL
                        ORDER BY partition, log_offset
                        """)))
            var texts: [String: [String]] = [:]
            for (key, text) in try rows.decode((String, String).self) { texts[key, default: []].append(text) }
            return texts
        }
    }

    /// Waits until no relay is left.
    func relayed() async throws {
        try await withDatabase { pool in
            try await eventually(within: 60, describe: "no relay is left") {
                try await pool.execute(Query(Statement("SELECT FROM push.broadcast_relays"))).isEmpty
            }
        }
    }
}
