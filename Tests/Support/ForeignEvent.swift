public import Contracts
public import Foundation
public import Postgres
import Records
public import Timeline

/// An event that a test appends to the log as another service would.
public struct ForeignEvent: Sendable {
    public var id = UUID()
    public var type: String
    public var version = 1
    public var key: AggregateKey
    public var app: String?
    public var time: Instant
    /// The correlation; nil for the event's own id.
    public var correlation: UUID?
    public var causation: UUID?
    /// The JSON document.
    public var data: [UInt8]

    /// Creates an event of any type.
    public init(
        _ type: String = "other.thing.pinged", to device: String, app: String? = nil,
        at time: Instant = RealClock().now, data: String = "{}"
    ) {
        (self.type, key, self.app, self.time, self.data) = (type, .device(device), app, time, Array(data.utf8))
    }

    /// Creates an event of the catalogue.
    public init<D: EventData>(_ data: D, to device: String, at time: Instant = RealClock().now) {
        (type, key, app, self.time, self.data) = (D.type, .device(device), data.app, time, data.jsonBytes)
    }

    /// The name of the service that would append it.
    public var source: String { String(type.prefix { $0 != "." }) }
}

extension ConnectionPool {
    private static let moveHead = Statement(
        "UPDATE bus.partitions SET head = head + 1, day = current_date WHERE partition = $1 RETURNING head")
    private static let appendForeignEvent = Statement(
        """
        INSERT INTO bus.events
            (partition, log_offset, day, id, source, type, version, key, app, time, correlationid, causationid, data,
                appended_at)
        SELECT partition, head, day, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11::json, statement_timestamp()
        FROM bus.partitions WHERE partition = $1
        """)

    /// Appends an event.
    ///
    /// - Parameters:
    ///   - partitions: the number of partitions of the log.
    ///   - wakesUp: false sends no wake-up.
    /// - Returns: its position in the log.
    @discardableResult
    public func append(
        _ event: ForeignEvent, partitions: Int, wakesUp: Bool = true
    ) async throws -> (partition: Int, offset: Int) {
        let partition = event.key.partition(of: partitions)
        let values: [Parameter] = [
            .int4(Int32(partition)), .uuid(event.id), .text(event.source), .text(event.type),
            .int4(Int32(event.version)), .text(event.key.description), .text(event.app),
            .int(Int(event.time.milliseconds)), .uuid(event.correlation ?? event.id), .uuid(event.causation),
            .json(event.data),
        ]
        let notice = Query(Statement("SELECT pg_notify('dormouse', $1)"), [.text("\(event.source):\(partition)")])
        let rows = try await execute(
            [
                Query(Statement("BEGIN")), Query(Self.moveHead, [values[0]], rowsExpected: 1),
                Query(Self.appendForeignEvent, values, rowsExpected: 1), Query(Statement("COMMIT")),
            ] + (wakesUp ? [notice] : []))
        return (partition, try rows[1][0].decode(Int.self))
    }
}
