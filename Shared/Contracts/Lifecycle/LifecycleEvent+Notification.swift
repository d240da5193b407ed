public import Records

extension LifecycleEvent {
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
