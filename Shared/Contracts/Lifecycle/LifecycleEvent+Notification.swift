public import Records

extension LifecycleEvent {
    /// An app on screen is told that the user opened a notification of its.
    public struct NotificationResponded: EventData {
        public static let type = "lifecycle.notification.responded"

        public var app: Nullable<String>
        /// Delivered to the app, behind those of the launch or the activation that it led to.
        public var callbacks: [Callback]
        /// As `push` names it.
        public var notification: String
    }
}
