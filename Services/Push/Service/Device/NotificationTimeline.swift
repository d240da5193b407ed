import Contracts
import Foundation
import PushMachine

/// Finds what the log says of a notification.
struct NotificationTimeline: Sendable {
    let tables: PushTables

    /// - Parameter id: its `apns-unique-id`, or its `apns-id` (of several with the same, the last).
    func find(_ id: String) async throws -> (key: AggregateKey, document: TimelineDocument)? {
        if let unique = NotificationID(id), unique.partition < tables.partitions {
            for key in try await tables.devices(in: unique.partition, locator: unique.locatorPrefix) {
                if let document = try await document(unique.description, key) { return (key, document) }
            }
        }
        guard let apnsID = UUID(uuidString: id), let found = try await tables.notification(apnsID: apnsID) else {
            return nil
        }
        return try await document(found.id, found.key).map { (found.key, $0) }
    }

    private func document(_ id: String, _ key: AggregateKey) async throws -> TimelineDocument? {
        let history = try await tables.history(of: id, key)
        return history.isEmpty ? nil : TimelineDocument(id, history)
    }
}
