import Contracts
import Machines
import OrderedCollections
public import Timeline

// The scheduled summary: the device holds alerts of the apps that the user has chosen, and shows them at times of the day.
// Alerts that are time-sensitive or critical do not wait (Apple, `UNNotificationInterruptionLevel.timeSensitive`). The
// decision is made when an alert arrives. An alert for an app on screen does not wait: our choice.
extension Decision<PushMachine> {
    /// Returns the time of the summary for an alert that arrives now; nil if the device shows it at once.
    func summaryTime(of message: PushMessage) -> Instant? {
        guard message.isForUser, !message.isPresented, !willPresent(message), isPermitted(message),
            profile.has(.scheduledSummary), let app = state.apps[message.app],
            app.notifications.scheduledDelivery == .on
        else { return nil }
        switch level(of: message, app.notifications) {
        case .timeSensitive, .critical: return nil
        case .passive, .active: return state.nextSummary(after: now, policy)
        }
    }

    /// Holds an alert on the device for the summary. If the time of the summary has passed, the device shows it.
    mutating func holdForSummary(_ id: String) {
        guard let message = state.messages[id], message.waitsForSummary, let summaryAt = message.summaryAt else {
            return
        }
        guard summaryAt > now else { return presentIfPermitted(id, message, .summary) }
        emit(
            .notificationHeld(
                .init(
                    app: message.app, notification: id, pushType: message.pushType, status: .heldSummary,
                    until: summaryAt)))
    }

    /// Shows the alerts whose summary is due.
    mutating func showSummary() {
        guard state.conditions.poweredOn else { return }
        let now = now
        showSummary { $0.summaryAt.map { $0 <= now } ?? false }
    }

    /// Shows the alerts of an app that the user has taken out of the summary.
    mutating func endSummary(of app: String) {
        guard state.apps[app]?.notifications.scheduledDelivery == .off else { return }
        showSummary { $0.app == app }
    }

    /// Shows held alerts, app by app. The one with the highest relevance score comes last, so it is on top (Apple,
    /// `UNNotificationContent.relevanceScore`).
    private mutating func showSummary(where isDue: (PushMessage) -> Bool) {
        let due = state.messages.filter { $0.value.waitsForSummary && isDue($0.value) }
        for app in state.apps.keys {
            let alerts = due.filter { $0.value.app == app }.enumerated().sorted {
                ($0.element.value.relevanceScore ?? 0, $0.offset) < ($1.element.value.relevanceScore ?? 0, $1.offset)
            }
            for (_, alert) in alerts { presentIfPermitted(alert.key, alert.value, .summary) }
        }
    }
}

extension PushMachine {
    /// Returns the next time of the scheduled summary; nil without one.
    public func nextSummary(after now: Instant, _ policy: PushPolicy) -> Instant? {
        func offset(_ moment: Instant) -> Interval {
            timeZone.map { .seconds(Int64(policy.timeZoneOffset($0, moment))) } ?? .zero
        }
        let day = Interval.days(1).milliseconds
        let local = (now + offset(now)).milliseconds
        let midnight = local - (local % day + day) % day
        let minutes = (summaryTimes ?? SummaryTimes.usual).compactMap { SummaryTimes.minute($0) }
        let times = (0...1).flatMap { days in
            minutes.map { minute in
                let naive = Instant(milliseconds: midnight + Int64(days) * day) + .minutes(Int64(minute))
                // The clock may change before the summary, so the offset at its time counts.
                return naive - offset(naive - offset(now))
            }
        }
        return times.filter { $0 > now }.min()
    }
}
