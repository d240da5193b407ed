public import Records

extension PushEvent {
    /// A newer notification took its place.
    public struct NotificationReplaced: EventData {
        public static let type = "push.notification.replaced"

        public var app: Nullable<String>
        /// The newer one.
        public var by: String
        public var notification: String
        public var pushType: PushType?
        public var status: ConsoleStatus = .replaced
    }

    /// A notification is given up.
    public struct NotificationDiscarded: EventData {
        public static let type = "push.notification.discarded"

        public var app: Nullable<String>
        public var notification: String
        public var pushType: PushType?
        /// Why the app could not be woken, where that is the cause.
        public var refusal: WakeRefusal?
        public var status: ConsoleStatus = .discardedExpired
    }
}
