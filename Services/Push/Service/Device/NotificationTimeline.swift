import Contracts
import Foundation
import PushMachine
import ServiceKit

/// Finds what the log says of a notification.
struct NotificationTimeline: Sendable {
    let tables: PushTables

    typealias Found = (key: AggregateKey, document: TimelineDocument, etag: ETag)

    /// - Parameter id: its `apns-unique-id`, or its `apns-id` (of several with the same, the last).
    func find(_ id: String) async throws -> Found? {
        if let unique = NotificationID(id), unique.partition < tables.partitions {
            for key in try await tables.devices(in: unique.partition, locator: unique.locatorPrefix) {
                if let found = try await timeline(unique.description, key) { return found }
            }
        }
        guard let apnsID = UUID(uuidString: id), let found = try await tables.notification(apnsID: apnsID) else {
            return nil
        }
        return try await timeline(found.id, found.key)
    }

    private func timeline(_ id: String, _ key: AggregateKey) async throws -> Found? {
        let history = try await tables.history(of: id, key)
        guard !history.events.isEmpty else { return nil }
        // The document is made of these events alone, so the last one's offset is its version.
        return (key, TimelineDocument(id, history.events), ETag(version: history.last))
    }
}
