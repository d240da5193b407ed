import Contracts
import Machines
import OrderedCollections
import PushCore
import Records
import Timeline

// The laws that the deliveries and the summary of a random life keep.
extension PushLife {
    /// - Parameter settings: the settings before the step. A change of settings delivers nothing.
    mutating func checkDeliveries(
        since logged: Int, _ settings: OrderedDictionary<String, NotificationSettings>
    ) throws {
        for event in runtime.log[logged...] {
            if event.type == PushEvent.NotificationPresented.type {
                presented.insert(try PushEvent.NotificationPresented(jsonBytes: event.data).notification)
            }
            guard event.type == PushEvent.NotificationDelivered.type else { continue }
            let delivered = try PushEvent.NotificationDelivered(jsonBytes: event.data)
            let aps = delivered.payload["aps"]
            let isPassive = aps?["alert"] != nil && aps?["interruption-level"] == "passive"
            let own = settings[delivered.app ?? ""] ?? NotificationSettings()
            let isOnTrial = own.authorization == .provisional
            let isAlert = aps?["alert"] != nil && !delivered.willPresent && !delivered.silent
            let hasLevels = Self.policy.generations[device.profile].has(.interruptionLevels)
            let breaksThrough = aps?["interruption-level"] == "critical" && own.criticalAlert == .on
            let isQuiet = isAlert && (isPassive && hasLevels || isOnTrial)
            try hold(delivered.quiet == (delivered.quietCause != nil), "a quiet alert has a cause")
            try hold(!delivered.quiet || isAlert, "only an alert off screen is quiet")
            try hold(
                !breaksThrough || isOnTrial || !delivered.quiet, "nothing delays an authorized critical alert")
            try hold(
                delivered.summaryAt == nil || isAlert && own.scheduledDelivery == .on && !breaksThrough,
                "only alerts of apps in the summary wait for it")
            try hold(delivered.summaryAt.map { $0 > event.time } ?? true, "a summary is in the future")
            try hold(
                !delivered.willPresent || !presented.contains(delivered.notification),
                "willPresent does not decide about a presented alert")
            try hold(
                delivered.quiet || !isQuiet || delivered.pushType != .alert,
                "a passive or provisional alert off screen is quiet")
        }
    }

    /// Each alert that the device holds for the summary ends once: it is shown, replaced or discarded.
    mutating func checkSummary(since logged: Int) throws {
        for event in runtime.log[logged...] where event.source == PushEvent.source {
            let data = try PushEvent(type: event.type, version: event.version, data: event.data)
            switch data {
            case .notificationHeld(let held) where held.status == .heldSummary:
                try hold(summarized.insert(held.notification).inserted, "an alert is held for the summary once")
            case .notificationPresented(let end): summarized.remove(end.notification)
            case .notificationReplaced(let end): summarized.remove(end.notification)
            case .notificationDiscarded(let end): summarized.remove(end.notification)
            default: continue
            }
        }
        for id in summarized {
            guard let message = device.messages[id] else {
                throw LawBroken(description: "an alert of the summary has an end")
            }
            try hold(
                !device.shown.contains { $0.id == id }
                    && (message.waitsForSummary || message.serviceExtension == .running),
                "an alert of the summary waits for its time")
        }
    }
}
