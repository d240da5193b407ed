public import Records
public import Timeline

extension PushEvent {
    /// A Live Activity started: its app requested it, or a push to the push-to-start token did.
    public struct LiveActivityStarted: EventData {
        public static let type = "push.liveactivity.started"

        public var activity: String
        /// Whether its push has an `alert`: the device lights up, and shows the expanded presentation or a banner.
        public var alerts: Bool
        public var app: Nullable<String>
        /// The name of its `ActivityAttributes`.
        public var attributesType: String?
        /// The broadcast channel of its updates.
        public var channel: String?
        /// Its first `ContentState`.
        public var contentState: JSON
        /// The environment of its token and its channel; nil without both.
        public var environment: PushEnvironment?
        /// Whether it may get frequent updates: `NSSupportsLiveActivitiesFrequentUpdates`.
        public var frequentUpdates: Bool
        /// The push that started it; nil for a request of the app.
        public var notification: String?
        /// The suite time at which its content becomes stale.
        public var staleDate: Instant?
        /// The `timestamp` of the push, in seconds of the provider's clock.
        public var timestamp: Int?
    }

    /// The content of a Live Activity changed.
    public struct LiveActivityUpdated: EventData {
        public static let type = "push.liveactivity.updated"

        public var activity: String
        /// Whether its push has an `alert`: the device lights up, and shows the expanded presentation or a banner.
        public var alerts: Bool
        public var app: Nullable<String>
        public var contentState: JSON
        /// The push with the update; nil for an update of the app.
        public var notification: String?
        public var staleDate: Instant?
        /// The `timestamp` of the push, in seconds of the provider's clock.
        public var timestamp: Int?
    }

    /// The content of a Live Activity became out of date.
    public struct LiveActivityStale: EventData {
        public static let type = "push.liveactivity.stale"

        public var activity: String
        public var app: Nullable<String>
    }

    /// A Live Activity ended. It stays on the Lock Screen until its dismissal.
    public struct LiveActivityEnded: EventData {
        public static let type = "push.liveactivity.ended"

        public var activity: String
        /// Whether its push has an `alert`: the device lights up, and shows the expanded presentation or a banner.
        public var alerts: Bool
        public var app: Nullable<String>
        public var cause: LiveActivityCause = .app
        /// The final content; nil if it did not change.
        public var contentState: JSON?
        /// The suite time at which the system removes it from the Lock Screen.
        public var dismissalDate: Instant
        /// The push that ended it.
        public var notification: String?
        /// The `timestamp` of the push, in seconds of the provider's clock.
        public var timestamp: Int?
    }

    /// A Live Activity was removed from the Lock Screen.
    public struct LiveActivityDismissed: EventData {
        public static let type = "push.liveactivity.dismissed"

        public var activity: String
        public var app: Nullable<String>
        public var cause: LiveActivityCause = .system
    }
}

/// The originator of the end or the dismissal of a Live Activity.
public enum LiveActivityCause: String, WireEnum {
    case app
    /// A push with the event `end`.
    case push
    /// The system, at a time limit.
    case system
    /// The user swiped it away.
    case user
}
