import Contracts
import EventLog
import Postgres
import Records
import ServiceKit

/// The records of ended refreshes, read from the log.
struct FetchHistory: Sendable {
    let pool: ConnectionPool
    let partitions: Int

    /// Newest first. Parameters: partition, key, type, app, before offset, limit. The index on the key bounds the search.
    private static let page = Statement(
        """
        SELECT log_offset, data::text FROM bus.events
        WHERE partition = $1 AND key = $2 AND type = $3 AND app = $4 AND log_offset < $5
        ORDER BY log_offset DESC LIMIT $6
        """)

    /// Parameters: partition, key, type, app, fetch.
    private static let one = Statement(
        """
        SELECT log_offset, data::text FROM bus.events
        WHERE partition = $1 AND key = $2 AND type = $3 AND app = $4 AND data ->> 'fetch' = $5
        ORDER BY log_offset DESC LIMIT 1
        """)

    typealias Entry = (offset: Int, record: FetchEvent.RefreshRecorded)

    /// At most `limit` records of an app whose events come before an offset, newest first.
    func page(_ key: AggregateKey, app: String, before offset: Int, limit: Int) async throws -> [Entry] {
        try await read(Self.page, key, app, [.int(offset), .int(limit)])
    }

    /// The record of a refresh; nil where it is not known, or has not ended.
    func record(_ key: AggregateKey, app: String, fetch: String) async throws -> FetchEvent.RefreshRecorded? {
        try await read(Self.one, key, app, [.text(fetch)]).first?.record
    }

    private func read(
        _ statement: Statement, _ key: AggregateKey, _ app: String, _ more: [Parameter]
    ) async throws -> [Entry] {
        let parameters: [Parameter] = [
            .int4(Int32(key.partition(of: partitions))), .text(key.description),
            .text(FetchEvent.RefreshRecorded.type), .text(app),
        ]
        return try await pool.run(Call(statement, parameters + more)).map { row in
            (try row.int(0), try FetchEvent.RefreshRecorded(jsonBytes: row.bytes(1), lenient: true))
        }
    }
}
