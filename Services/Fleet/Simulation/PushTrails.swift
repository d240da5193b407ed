import Contracts
import DequeModule
import Foundation
import OrderedCollections
import Reports
import Timeline

/// The events of the pushes of a device that have not arrived, with their causes.
struct PushTrails {
    private enum Step {
        /// A line of a notification, with the event of another service that led to it.
        case line(at: Instant, NotificationStatus, cause: Event?)
        /// A step of a snapshot.
        case stored(StoredStep)

        var step: PushStep {
            switch self {
            case .line(let time, let status, let cause): PushStep(at: time, status, cause: cause)
            case .stored(let stored): stored.step
            }
        }

        /// The status, if the push waits in it.
        var wait: String? {
            switch self {
            case .line(_, let status, _): status.status.isWait ? status.status.rawValue : nil
            case .stored(let stored): stored.wait
            }
        }
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
        steps[status.notification]?.append(.line(at: event.time, status, cause: cause))
    }

    /// The last status in which a push waited on the device or in the push service; nil if it never waited.
    func lastWait(of notification: String) -> String? {
        steps[notification]?.lazy.compactMap(\.wait).last
    }

    /// Ends the trail of a push that arrived or never will.
    mutating func end(_ notification: String) -> [PushStep] {
        (steps.removeValue(forKey: notification) ?? []).map(\.step)
    }

    /// The trails for a snapshot.
    var stored: StoredTrails {
        var stored = StoredTrails()
        stored.recent = recent.map { StoredEvent($0) }
        for (id, steps) in steps.sorted(by: { $0.key < $1.key }) {
            stored.steps[id] = steps.map { StoredStep(step: $0.step, wait: $0.wait) }
        }
        return stored
    }

    /// Continues from a snapshot.
    mutating func restore(_ stored: StoredTrails) {
        recent = Deque(stored.recent.compactMap(\.event))
        steps = Dictionary(uniqueKeysWithValues: stored.steps.map { ($0.key, $0.value.map { .stored($0) }) })
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
