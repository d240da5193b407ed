public import Records

extension PushEvent {
    /// `push` asked `lifecycle` to wake an app for a notification. The device shows nothing of it before.
    public struct WakeRequested: EventData {
        public static let type = "push.wake.requested"

        public var app: Nullable<String>
        /// The `apns-unique-id` of the notification. Later events refer to it.
        public var notification: String
        /// The payload of the provider.
        public var payload: JSON
        /// The push type. `voip` announces a call.
        public var pushType: PushType?
    }

    /// The system woke an app for a notification.
    public struct WakeGranted: EventData {
        public static let type = "push.wake.granted"

        public var app: Nullable<String>
        /// Whether the notification arrives with the wake, because it is silent.
        public var arrived: Bool
        public var notification: String
        public var pushType: PushType?
        public var status: ConsoleStatus = .wokeApp
        public var wake: String
    }

    /// An app completed its handler for a notification.
    public struct WakeCompleted: EventData {
        public static let type = "push.wake.completed"

        public var app: Nullable<String>
        public var notification: String
        public var pushType: PushType?
        public var result: WakeResult?
        public var status: ConsoleStatus = .completed
    }

    /// The system refused to wake an app for a notification.
    public struct WakeRefused: EventData {
        public static let type = "push.wake.refused"

        public var app: Nullable<String>
        /// Whether the notification arrives, because its app came on screen: its `willPresent` gets an alert, its
        /// handler a silent notification.
        public var arrived: Bool
        public var notification: String
        public var pushType: PushType?
        public var refusal: WakeRefusal
        public var status: ConsoleStatus = .wakeRefused
    }

    /// `push` stopped waiting for an app's handler, because the app ended or the device had too many pending
    /// notifications.
    public struct WakeEnded: EventData {
        public static let type = "push.wake.ended"

        public var app: Nullable<String>
        public var notification: String
        public var pushType: PushType?
        public var status: ConsoleStatus = .wakeEnded
    }
}
