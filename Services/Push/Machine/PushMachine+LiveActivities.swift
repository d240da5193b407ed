import Contracts
import OrderedCollections
import Timeline

extension PushMachine {
    mutating func apply(_ event: PushEvent.LiveActivityStarted, at time: Instant) {
        guard let app = event.app else { return }
        var activity = LiveActivity()
        activity.attributesType = event.attributesType
        activity.channel = event.channel
        activity.contentState = event.contentState
        activity.environment = event.environment
        activity.frequentUpdates = event.frequentUpdates
        activity.staleDate = event.staleDate
        activity.startedAt = time
        activity.timestamp = event.timestamp ?? 0
        apps[app]?.liveActivities[event.activity] = activity
    }

    mutating func apply(_ event: PushEvent.LiveActivityUpdated) {
        change(event.activity, of: event.app) {
            $0.contentState = event.contentState
            $0.staleDate = event.staleDate
            $0.state = .active
            $0.timestamp = event.timestamp ?? $0.timestamp
        }
    }

    mutating func apply(_ event: PushEvent.LiveActivityStale) {
        change(event.activity, of: event.app) { $0.state = .stale }
    }

    mutating func apply(_ event: PushEvent.LiveActivityEnded) {
        change(event.activity, of: event.app) {
            $0.contentState = event.contentState ?? $0.contentState
            $0.dismissalDate = event.dismissalDate
            $0.state = .ended
            $0.timestamp = event.timestamp ?? $0.timestamp
        }
    }

    mutating func apply(_ event: PushEvent.LiveActivityDismissed) {
        guard let app = event.app else { return }
        apps[app]?.liveActivities.removeValue(forKey: event.activity)
    }

    /// Charges a delivery to the budget of its Live Activity.
    mutating func charge(_ event: PushEvent.NotificationDelivered) {
        guard let fullAt = event.fullAt, let activity = messages[event.notification]?.activity else { return }
        messages[event.notification]?.charged = true
        change(activity, of: event.app) { $0.fullAt = fullAt }
    }

    private mutating func change(_ activity: String, of app: String?, _ body: (inout LiveActivity) -> Void) {
        guard let app, var found = apps[app]?.liveActivities[activity] else { return }
        body(&found)
        apps[app]?.liveActivities[activity] = found
    }
}
