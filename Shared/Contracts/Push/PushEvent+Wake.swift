public import Records

extension PushEvent {
    /// A notification asks for its app to be woken, before anything of it is shown.
    public struct WakeRequested: EventData {
        public static let type = "push.wake.requested"

        public var app: Nullable<String>
        /// The notification's `apns-unique-id`: names it in everything that follows.
        public var notification: String
        /// What the provider sent.
        public var payload: JSON
        /// `voip` announces a call.
        public var pushType: PushType?
    }

    /// The app was woken for a notification.
    public struct WakeGranted: EventData {
        public static let type = "push.wake.granted"

        public var app: Nullable<String>
        public var notification: String
        public var pushType: PushType?
        public var status: ConsoleStatus = .wokeApp
        public var wake: String
    }

    /// The app is done with a notification.
    public struct WakeCompleted: EventData {
        public static let type = "push.wake.completed"

        public var app: Nullable<String>
        public var notification: String
        public var pushType: PushType?
        public var result: WakeResult?
        public var status: ConsoleStatus = .completed
    }

    /// The app was not woken for a notification.
    public struct WakeRefused: EventData {
        public static let type = "push.wake.refused"

        public var app: Nullable<String>
        public var notification: String
        public var pushType: PushType?
        public var refusal: WakeRefusal
        public var status: ConsoleStatus = .wakeRefused
    }

    /// The app ended before it was done with a notification, or its wake is not awaited.
    public struct WakeEnded: EventData {
        public static let type = "push.wake.ended"

        public var app: Nullable<String>
        public var notification: String
        public var pushType: PushType?
        public var status: ConsoleStatus = .wakeEnded
    }
}
