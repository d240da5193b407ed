public import Records

extension PushEvent {
    /// A newer notification replaced a notification.
    public struct NotificationReplaced: EventData {
        public static let type = "push.notification.replaced"

        public var app: Nullable<String>
        /// The newer notification.
        public var by: String
        public var notification: String
        public var pushType: PushType?
        public var status: ConsoleStatus = .replaced
    }

    /// A notification was discarded.
    public struct NotificationDiscarded: EventData {
        public static let type = "push.notification.discarded"

        public var app: Nullable<String>
        public var notification: String
        public var pushType: PushType?
        /// The reason why the app could not be woken, if that is the cause.
        public var refusal: WakeRefusal?
        public var status: ConsoleStatus = .discardedExpired
    }
}
