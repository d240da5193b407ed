public import Contracts
public import Postgres
import Records
public import Timeline

/// The events of one type about an app, from the log, so that no state has to store them.
public struct EventHistory<D: EventData>: Sendable {
    /// An event of the history.
    public struct Entry: Sendable {
        public let offset: Int
        public let time: Instant
        public let data: D
    }

    private let pool: ConnectionPool
    private let partitions: Int
    private let page = Statement(
        """
        SELECT log_offset, time, data::text FROM bus.events
        WHERE partition = $1 AND key = $2 AND type = $3 AND app = $4 AND log_offset < $5
        ORDER BY log_offset DESC LIMIT $6
        """)
    private let one = Statement(
        """
        SELECT log_offset, time, data::text FROM bus.events
        WHERE partition = $1 AND key = $2 AND type = $3 AND app = $4 AND data ->> $5 = $6
        ORDER BY log_offset DESC LIMIT 1
        """)

    public init(_ type: D.Type = D.self, pool: ConnectionPool, partitions: Int) {
        self.pool = pool
        self.partitions = partitions
    }

    /// Returns at most `limit` events of an app before an offset, newest first. It uses the index on the key.
    public func page(_ key: AggregateKey, app: String, before offset: Int = .max, limit: Int) async throws -> [Entry] {
        try await read(page, key, app, [.int(offset), .int(limit)])
    }

    /// Returns the events of an app since an instant and the last one before it, oldest first.
    public func since(_ start: Instant, _ key: AggregateKey, app: String) async throws -> [Entry] {
        var found: [Entry] = []
        let limit = 200
        while true {
            // The times of a device's events never go back, so no event before the first older one is younger.
            let entries = try await page(key, app: app, before: found.last?.offset ?? .max, limit: limit)
            let young = entries.prefix { $0.time >= start }
            found += entries.prefix(young.count + 1)
            guard young.count == limit else { return found.reversed() }
        }
    }

    /// Returns the last event of an app whose data have a text in a member.
    public func last(_ key: AggregateKey, app: String, where member: String, is text: String) async throws -> Entry? {
        try await read(one, key, app, [.text(member), .text(text)]).first
    }

    private func read(
        _ statement: Statement, _ key: AggregateKey, _ app: String, _ more: [Parameter]
    ) async throws -> [Entry] {
        let parameters: [Parameter] = [
            .partition(key.partition(of: partitions)), .key(key), .text(D.type), .text(app),
        ]
        return try await pool.execute(statement, parameters + more).decode((Int, Instant, [UInt8]).self).map {
            Entry(offset: $0, time: $1, data: try D(jsonBytes: $2, lenient: true))
        }
    }
}
