import Contracts
import Foundation
import HTTPKit
import Postgres
import PushMachine
import Timeline

/// Reads the timelines of notifications from the log.
struct NotificationTimeline: Sendable {
    let pool: ConnectionPool
    let partitions: Int

    typealias Found = (key: AggregateKey, document: TimelineDocument, etag: ETag)

    // Each is one index search, however many events the device has. MATERIALIZED keeps the planner from a scan of the
    // partition in offset order.
    static let received = Statement(
        """
        WITH correlated AS MATERIALIZED (
            SELECT log_offset, type, time, data FROM bus.events WHERE partition = $1 AND correlationid = $2 LIMIT 10000)
        SELECT data ->> 'notification', time FROM correlated WHERE type = 'push.notification.received'
        ORDER BY log_offset DESC LIMIT 1
        """)
    // All devices that receive a broadcast share its id.
    static let receivedByDevice = Statement(
        """
        WITH correlated AS MATERIALIZED (
            SELECT log_offset, type, time, data FROM bus.events
            WHERE partition = $1 AND correlationid = $2 AND key = $3)
        SELECT data ->> 'notification', time FROM correlated WHERE type = 'push.notification.received'
        ORDER BY log_offset DESC LIMIT 1
        """)
    static let history = Statement(
        """
        WITH matching AS MATERIALIZED (
            SELECT key, type, version, data, time, log_offset FROM bus.events
            WHERE partition = $1 AND source = 'push' AND data ->> 'notification' = $2)
        SELECT type, version::int8, data::text, time, log_offset, key FROM matching ORDER BY log_offset
        """)

    /// - Parameters:
    ///   - id: an `apns-unique-id`, or an `apns-id`, which finds its latest notification.
    ///   - device: limits the search by `apns-id` to a device; nil searches all devices.
    func find(_ id: String, of device: AggregateKey? = nil) async throws -> Found? {
        if let unique = NotificationID(id), let found = try await timeline(unique) { return found }
        guard let apnsID = UUID(uuidString: id), let unique = try await notification(apnsID, of: device) else {
            return nil
        }
        return try await timeline(unique)
    }

    /// Returns the latest notification with an `apns-id`, which is the correlation id of its events.
    private func notification(_ apnsID: UUID, of device: AggregateKey?) async throws -> NotificationID? {
        let calls =
            if let device {
                [
                    Query(
                        Self.receivedByDevice,
                        [
                            .int4(Int32(device.partition(of: partitions))), .uuid(apnsID), .text(device.description),
                        ])
                ]
            } else {
                (0..<partitions).map { Query(Self.received, [.int4(Int32($0)), .uuid(apnsID)]) }
            }
        let found = try await pool.execute(calls).compactMap(\.first).map { (try $0.text(0), try $0.int(1)) }
        return found.max { $0.1 < $1.1 }.flatMap { NotificationID($0.0) }
    }

    private func timeline(_ id: NotificationID) async throws -> Found? {
        guard id.partition < partitions else { return nil }
        let rows = try await pool.execute(
            Query(Self.history, [.int4(Int32(id.partition)), .text(id.description)]))
        guard let last = rows.last else { return nil }
        let events = try rows.map { row in
            let event = try PushEvent(type: try row.text(0), version: try row.int(1), data: try row.bytes(2))
            return (event: event, time: Instant(milliseconds: Int64(try row.int(3))))
        }
        // The document depends on these events alone, so the last offset is its version.
        let document = TimelineDocument(id.description, events)
        return (AggregateKey(try last.text(5)), document, ETag(version: try last.int(4)))
    }
}
