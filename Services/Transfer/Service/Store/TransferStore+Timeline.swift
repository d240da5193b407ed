import Contracts
import EventLog
import Postgres
import Records
import Timeline
import TransferCore

// The events of one task, from the log.
extension TransferStore {
    private static let page = Statement(
        """
        SELECT log_offset, type, time, data::text FROM bus.events
        WHERE partition = $1 AND key = $2 AND source = 'transfer' AND app = $3 AND log_offset < $4
            AND data ->> 'session' = $5 AND data ->> 'task' = $6
        ORDER BY log_offset DESC LIMIT $7
        """)

    /// Returns at most `limit` events before an offset, newest first.
    func timeline(
        of place: TaskKey, _ key: AggregateKey, before offset: Int, limit: Int
    ) async throws -> Page<TimelineEntry> {
        let rows = try await pool.execute(
            Self.page, .partition(key.partition(of: partitions)), .key(key), .text(place.app), .int(offset),
            .text(place.session), .text(String(place.task)), .int(limit)
        ).decode((Int, String, Instant, [UInt8]).self)
        let entries = try rows.map { _, type, time, data in
            TimelineEntry(data: try JSON(parsing: data), time: time, type: type)
        }
        return Page(entries, next: rows.count == limit ? rows.last.map { String($0.0) } : nil)
    }
}
