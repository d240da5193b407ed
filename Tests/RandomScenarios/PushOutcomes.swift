package import Contracts
package import Foundation
package import OrderedCollections
import Records
package import Timeline

/// The outcome of each notification of a device, folded from the events of `push`: the rule of the view `ops.pushes`.
package struct PushOutcomes {
    package struct Outcome: Equatable {
        package let sentAt: Instant
        /// The offset of its first event.
        package let offset: Int
        package var arrivedAt: Instant?
        package var shownAt: Instant?
        package var wokeAt: Instant?
        /// The status with which it arrived or ended, else the latest.
        package var status: String
        /// The event of the status.
        package var event: UUID
        /// The latest status with which it waited before its arrival.
        package var wait: String?
        fileprivate let isForUser: Bool
        fileprivate var isAcknowledged = false
        fileprivate var isWaking = false

        /// Whether it can't arrive any more.
        package var isOver: Bool {
            let waits = status.hasPrefix("Held") || status.hasPrefix("Stored")
            return status.hasPrefix("Discarded") || status == ConsoleStatus.replaced.rawValue
                || status == "Device Removed" || isAcknowledged && !isWaking && !waits
        }
    }

    package private(set) var all: OrderedDictionary<String, Outcome> = [:]

    package init() {}

    package mutating func apply(_ event: Event) throws {
        guard event.source == PushEvent.source else { return }
        let known = try PushEvent(type: event.type, version: event.version, data: event.data)
        if case .deviceRemoved = known { return endAll(by: event) }
        guard let status = known.status else { return }
        if case .notificationReceived(let received) = known {
            all[received.notification] = Outcome(
                sentAt: event.time, offset: event.offset, status: status.status.rawValue, event: event.id,
                isForUser: received.forUser)
        }
        guard var outcome = all[status.notification] else { return }
        defer { all[status.notification] = outcome }
        switch known {
        case .notificationAcknowledged: outcome.isAcknowledged = true
        case .wakeRequested: outcome.isWaking = true
        case .wakeGranted:
            outcome.isWaking = true
            outcome.wokeAt = outcome.wokeAt ?? event.time
        case .wakeCompleted, .wakeRefused, .wakeEnded: outcome.isWaking = false
        default: break
        }
        switch known {
        case .notificationAcknowledged, .notificationPresented:
            if outcome.isForUser, status.arrives { outcome.shownAt = outcome.shownAt ?? event.time }
        default: break
        }
        guard outcome.arrivedAt == nil else { return }
        if status.arrives { outcome.arrivedAt = event.time }
        // A requested wake has no line in Apple's console, and its event no status.
        if case .wakeRequested = known { return }
        outcome.status = status.status.rawValue
        outcome.event = event.id
        switch known {
        case .notificationStored, .notificationHeld: outcome.wait = status.status.rawValue
        default: break
        }
    }

    private mutating func endAll(by event: Event) {
        for (id, outcome) in all where outcome.arrivedAt == nil && !outcome.isOver {
            all[id]?.status = "Device Removed"
            all[id]?.event = event.id
        }
    }
}
