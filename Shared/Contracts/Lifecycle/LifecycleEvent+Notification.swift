public import Records

extension LifecycleEvent {
    /// An app asked for authorization to send notifications, and the user or the system decided.
    public struct NotificationAuthorizationDecided: EventData {
        public static let type = "lifecycle.notificationAuthorization.decided"

        /// The answer of the user; nil if the system asked nothing.
        public var answer: AuthorizationAnswer?
        public var app: Nullable<String>
        public var authorization: NotificationAuthorization
        public var options: [AuthorizationOption]
    }

    /// The system reported to an app on screen that the user opened one of its notifications, or chose an action of one.
    public struct NotificationResponded: EventData {
        public static let type = "lifecycle.notification.responded"

        /// The action; nil for the default action.
        public var actionIdentifier: String?
        public var app: Nullable<String>
        /// The delegate methods that the system calls, after those of the launch or activation that the notification
        /// caused.
        public var callbacks: [Callback]
        /// The identifier of the notification in `push`.
        public var notification: String
        /// The text that the user wrote.
        public var userText: String?
    }
}
