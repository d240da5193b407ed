public import Records

extension PushEvent {
    /// The device showed an alert after the attempt to wake its app.
    public struct NotificationPresented: EventData {
        public static let type = "push.notification.presented"

        public var app: Nullable<String>
        public var cause: PresentationCause = .completed
        public var notification: String
        public var pushType: PushType?
        public var status: ConsoleStatus = .presented
    }

    /// The user opened a notification, and its app came on screen.
    public struct NotificationOpened: EventData {
        public static let type = "push.notification.opened"

        public var app: Nullable<String>
        public var notification: String
        public var pushType: PushType?
        public var status: ConsoleStatus = .opened
    }
}
