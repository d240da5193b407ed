import Contracts
import DequeModule
import Foundation
import OrderedCollections
import Reports
import Timeline

/// The events of the pushes of a device that have not arrived, with their causes.
struct PushTrails {
    /// The events of a push.
    struct Trail {
        fileprivate var lines: [Step] = []

        /// The events with their causes and reasons as text.
        var steps: [PushStep] { lines.map(\.step) }
    }

    fileprivate enum Step {
        /// A line of a notification, with the event of another service that led to it, and what explains it.
        case line(at: Instant, NotificationStatus, cause: Event?, [(kind: PushReasonKind, note: PushExplanations.Note)])
        /// A step of a snapshot.
        case stored(StoredStep)

        var step: PushStep {
            switch self {
            case .line(let time, let status, let cause, let reasons):
                PushStep(
                    at: time, status, cause: cause,
                    reasons.map { PushStepReason($0.kind, $0.note.data, at: $0.note.at) })
            case .stored(let stored): stored.step
            }
        }

        /// The status, if the push waits in it.
        var wait: String? {
            switch self {
            case .line(_, let status, _, _): status.status.isWait ? status.status.rawValue : nil
            case .stored(let stored): stored.wait
            }
        }
    }

    private var trails: [String: Trail] = [:]
    private var explanations = PushExplanations()
    /// The latest events of other services.
    private var recent = Deque<Event>()
    private static let mostRecent = 32

    mutating func begin(_ notification: String) { trails[notification] = Trail() }

    /// Notes an event of the device.
    mutating func note(_ event: Event, _ own: MachineEvent) {
        guard case .push(let push) = own else {
            // A push causes its events at once, so earlier causes do not matter.
            guard !trails.isEmpty else { return recent.removeAll(keepingCapacity: true) }
            recent.append(event)
            if recent.count > Self.mostRecent { recent.removeFirst() }
            return
        }
        if let status = push.family.status, trails[status.notification] != nil {
            let cause = event.causation.flatMap { id in recent.last { $0.id == id } }
            let reasons = explanations.reasons(of: push.family)
            trails[status.notification]?.lines.append(.line(at: event.time, status, cause: cause, reasons))
        }
        explanations.note(push.family, at: event.time) { trails[$0] != nil }
    }

    /// The last status in which a push waited on the device or in the push service; nil if it never waited.
    func lastWait(of notification: String) -> String? {
        trails[notification]?.lines.lazy.compactMap(\.wait).last
    }

    /// Ends the trail of a push that arrived or never will.
    @discardableResult
    mutating func end(_ notification: String) -> Trail {
        explanations.end(notification)
        return trails.removeValue(forKey: notification) ?? Trail()
    }

    /// The trails for a snapshot.
    var stored: StoredTrails {
        var stored = StoredTrails()
        stored.recent = recent.map { StoredEvent($0) }
        stored.notes = explanations.notes.map { StoredNote($0) }
        for (id, trail) in trails.sorted(by: { $0.key < $1.key }) {
            stored.steps[id] = trail.lines.map { StoredStep(step: $0.step, wait: $0.wait) }
        }
        return stored
    }

    /// Continues from a snapshot.
    mutating func restore(_ stored: StoredTrails) {
        recent = Deque(stored.recent.compactMap(\.event))
        trails = Dictionary(
            uniqueKeysWithValues: stored.steps.map { ($0.key, Trail(lines: $0.value.map { .stored($0) })) })
        for note in stored.notes {
            guard let event = note.event else { continue }
            explanations.note(event, at: note.at) { trails[$0] != nil }
        }
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
