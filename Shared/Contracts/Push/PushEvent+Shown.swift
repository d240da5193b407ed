public import Records

extension PushEvent {
    /// An alert whose app was to be woken first is shown now.
    public struct NotificationPresented: EventData {
        public static let type = "push.notification.presented"

        public var app: Nullable<String>
        public var cause: PresentationCause = .completed
        public var notification: String
        public var pushType: PushType?
        public var status: ConsoleStatus = .presented
    }

    /// The user opened a notification that the device shows: its app comes on screen.
    public struct NotificationOpened: EventData {
        public static let type = "push.notification.opened"

        public var app: Nullable<String>
        public var notification: String
        public var pushType: PushType?
        public var status: ConsoleStatus = .opened
    }
}
