public import Records

extension LifecycleEvent {
    /// An app on screen is told that the user opened a notification of its.
    public struct NotificationResponded: EventData {
        public static let type = "lifecycle.notification.responded"
        public static let summary = "An app on screen is told that the user opened a notification of its."

        public var app: String?
        /// Delivered to the app, behind those of the launch or the activation that it led to.
        public var callbacks: [Callback] = []
        /// As `push` names it.
        public var notification: String = ""

        public init() {}

        public init(app: String, callbacks: [Callback], notification: String) {
            self.app = app
            self.callbacks = callbacks
            self.notification = notification
        }

        public mutating func visit<V: FieldVisitor>(_ fields: inout V) {
            fields.field("app", &app)
            fields.field("callbacks", &callbacks)
            fields.field("notification", &notification)
        }
    }
}
