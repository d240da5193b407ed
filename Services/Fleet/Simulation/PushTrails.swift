import Contracts
import DequeModule
import Foundation
import Reports
import Timeline

/// The events of the pushes of a device that have not arrived, with their causes.
struct PushTrails {
    private struct Step {
        var at: Instant
        var status: NotificationStatus
        /// The event of another service that led to this one.
        var cause: Event?
    }

    private var steps: [String: [Step]] = [:]
    /// The latest events of other services.
    private var recent = Deque<Event>()
    private static let mostRecent = 32

    mutating func begin(_ notification: String) { steps[notification] = [] }

    /// Notes an event of the device.
    mutating func note(_ event: Event, _ own: MachineEvent) {
        // A push causes its events at once, so earlier causes do not matter.
        guard !steps.isEmpty else { return recent.removeAll(keepingCapacity: true) }
        guard case .push(let push) = own else {
            recent.append(event)
            if recent.count > Self.mostRecent { recent.removeFirst() }
            return
        }
        guard let status = push.family.status, steps[status.notification] != nil else { return }
        let cause = event.causation.flatMap { id in recent.last { $0.id == id } }
        steps[status.notification]?.append(Step(at: event.time, status: status, cause: cause))
    }

    /// The last status in which a push waited on the device or in the push service; nil if it never waited.
    func lastWait(of notification: String) -> String? {
        steps[notification]?.last { $0.status.status.isWait }?.status.status.rawValue
    }

    /// Ends the trail of a push that arrived or never will.
    mutating func end(_ notification: String) -> [PushStep] {
        (steps.removeValue(forKey: notification) ?? []).map { PushStep(at: $0.at, $0.status, cause: $0.cause) }
    }
}

extension ConsoleStatus {
    fileprivate var isWait: Bool {
        switch self {
        case .storedOffline, .storedPower, .heldBudget, .heldLowPower, .heldRefused, .heldSummary: true
        default: false
        }
    }
}
