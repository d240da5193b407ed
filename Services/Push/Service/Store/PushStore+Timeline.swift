import Contracts
import EventLog
import Foundation
import HTTPKit
import Postgres
import PushCore
import Timeline

// The timelines of notifications, read from the log.
extension PushStore {
    typealias FoundTimeline = (key: AggregateKey, document: TimelineDocument, version: Int)

    // Each is one index search, however many events the device has. MATERIALIZED keeps the planner from a scan of the
    // partition in offset order.
    static let receivedWithID = Statement(
        """
        WITH correlated AS MATERIALIZED (
            SELECT log_offset, type, time, data FROM bus.events WHERE partition = $1 AND correlationid = $2 LIMIT 10000)
        SELECT data ->> 'notification', time FROM correlated WHERE type = 'push.notification.received'
        ORDER BY log_offset DESC LIMIT 1
        """)
    // All devices that receive a broadcast share its id.
    private static let receivedByDevice = Statement(
        """
        WITH correlated AS MATERIALIZED (
            SELECT log_offset, type, time, data FROM bus.events
            WHERE partition = $1 AND correlationid = $2 AND key = $3)
        SELECT data ->> 'notification', time FROM correlated WHERE type = 'push.notification.received'
        ORDER BY log_offset DESC LIMIT 1
        """)
    static let notificationEvents = Statement(
        """
        WITH matching AS MATERIALIZED (
            SELECT key, type, version, data, time, log_offset FROM bus.events
            WHERE partition = $1 AND source = 'push' AND data ->> 'notification' = $2)
        SELECT type, version::int8, data::text, time, log_offset, key FROM matching ORDER BY log_offset
        """)

    /// - Parameters:
    ///   - id: an `apns-unique-id`, or an `apns-id`, which finds its latest notification.
    ///   - device: limits the search by `apns-id` to a device; nil searches all devices.
    func timeline(_ id: String, of device: AggregateKey? = nil) async throws -> FoundTimeline? {
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
                        Self.receivedByDevice, .partition(device.partition(of: partitions)), .uuid(apnsID), .key(device)
                    )
                ]
            } else {
                (0..<partitions).map { Query(Self.receivedWithID, .partition($0), .uuid(apnsID)) }
            }
        let found = try await pool.execute(calls).flatMap { try $0.decode((String, Instant).self) }
        return found.max { $0.1 < $1.1 }.flatMap { NotificationID($0.0) }
    }

    private func timeline(_ id: NotificationID) async throws -> FoundTimeline? {
        guard id.partition < partitions else { return nil }
        let rows = try await pool.execute(Self.notificationEvents, .partition(id.partition), .text(id.description))
            .decode((String, Int, [UInt8], Instant, Int, AggregateKey).self)
        guard let (_, _, _, _, offset, key) = rows.last else { return nil }
        let events = try rows.map { type, version, data, time, _, _ in
            (event: try PushEvent(type: type, version: version, data: data), time: time)
        }
        // The document depends on these events alone, so the last offset is its version.
        return (key, TimelineDocument(id.description, events), offset)
    }
}
