import Contracts
import Postgres
import Records
import Timeline
import TransferMachine

/// Reads the events of one task from the log.
struct TaskTimeline: Sendable {
    let pool: ConnectionPool
    let partitions: Int

    private static let page = Statement(
        """
        SELECT log_offset, type, time, data::text FROM bus.events
        WHERE partition = $1 AND key = $2 AND source = 'transfer' AND app = $3 AND log_offset < $4
            AND data ->> 'session' = $5 AND data ->> 'task' = $6
        ORDER BY log_offset DESC LIMIT $7
        """)

    /// Returns at most `limit` events before an offset, newest first.
    func page(_ key: AggregateKey, _ place: TaskKey, before offset: Int, limit: Int) async throws -> TimelineDocument {
        let parameters: [Parameter] = [
            .int4(Int32(key.partition(of: partitions))), .text(key.description), .text(place.app), .int(offset),
            .text(place.session), .text(String(place.task)), .int(limit),
        ]
        let rows = try await pool.execute(Query(Self.page, parameters))
        var document = TimelineDocument()
        document.items = try rows.map { row in
            var entry = TimelineDocument.Entry()
            entry.type = try row.text(1)
            entry.time = Instant(milliseconds: Int64(try row.int(2)))
            entry.data = try JSON(parsing: try row.bytes(3))
            return entry
        }
        if rows.count == limit, let last = rows.last { document.next = String(try last.int(0)) }
        return document
    }
}

/// A page of the events of a task, newest first.
struct TimelineDocument: Record {
    struct Entry: Record {
        var data: JSON = [:]
        var time = Instant.epoch
        var type = ""
    }

    var items: [Entry] = []
    /// The `?cursor=` of the next page, which has earlier events.
    var next: Nullable<String> = nil
}
