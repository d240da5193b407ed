import Scenarios
import OrderedCollections
import Contracts
import LifecycleCore
import Machines
import PushCore
public import Timeline

/// A rule that the machines violated.
public struct Violation: Sendable, Equatable, CustomStringConvertible {
    public let device: String
    public let at: Instant
    /// The rule as a sentence.
    public let rule: String

    public var description: String { "\(at) \(device): violated: \(rule)" }
}

/// The memory of the checks of a device.
struct DeviceCheck {
    /// The notifications that have ended.
    var ended: Set<String> = []
    var last = Instant.epoch
}

// Invariants, checked after every event.
extension DeviceSimulation {
    /// Adds the event to the folds, and checks the rules.
    mutating func examine(_ event: Event, _ own: MachineEvent, _ context: inout PartitionContext) throws {
        let name = device.name
        func hold(_ condition: Bool, _ rule: String) {
            guard !condition else { return }
            context.violations.append(Violation(device: name, at: event.time, rule: rule))
        }
        hold(event.time >= (check?.last ?? .epoch), "Time never goes back.")
        check?.last = event.time
        switch own {
        case .lifecycle:
            try lifecycle.fold(event)
            let onScreen = lifecycle.state.apps.values.count { $0.state.isForeground }
            hold(onScreen <= 1, "At most one app is on screen.")
        case .fetch: try fetch.fold(event)
        case .transfer: try transfer.fold(event)
        case .push(let own):
            try push.fold(event)
            examine(own.family, at: event.time, context.policies.push, hold)
        }
    }

    private mutating func examine(
        _ event: PushEvent, at time: Instant, _ policy: PushPolicy, _ hold: (Bool, String) -> Void
    ) {
        let isOn = push.state.conditions.poweredOn
        switch event {
        case .notificationDelivered(let event):
            hold(isOn, "Nothing is delivered while the device is off.")
            hold(check?.ended.contains(event.notification) == false, "A notification ends only once.")
        case .notificationPresented(let event):
            hold(check?.ended.contains(event.notification) == false, "A notification ends only once.")
        case .notificationDiscarded(let event): end(event.notification, hold)
        case .notificationReplaced(let event): end(event.notification, hold)
        case .notificationOpened(let event):
            hold(isOn, "Nothing is opened while the device is off.")
            end(event.notification, hold)
        case .budgetChanged(let event):
            hold(event.spentToday <= policy.silentDaily, "No device exceeds its daily budget of silent pushes.")
            let longest = policy.silentRefill * policy.silentBurst
            hold(event.fullAt - time <= longest, "No app exceeds its budget of silent pushes.")
        default: return
        }
    }

    private mutating func end(_ id: String, _ hold: (Bool, String) -> Void) {
        hold(check?.ended.insert(id).inserted ?? true, "A notification ends only once.")
    }

    /// Whether the state of each machine equals the fold of its events.
    var equalsFold: Bool { lifecycle.equalsFold && fetch.equalsFold && push.equalsFold && transfer.equalsFold }
}
