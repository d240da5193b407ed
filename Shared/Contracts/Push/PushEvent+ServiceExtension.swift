public import Records

extension PushEvent {
    /// The service extension of an app changed the content of an alert before the user saw it.
    public struct NotificationModified: EventData {
        public static let type = "push.notification.modified"

        public var app: Nullable<String>
        /// The changed members.
        public var content: NotificationContent
        public var notification: String
        public var pushType: PushType?
        public var status: ConsoleStatus = .modified
        /// Whether the app is on screen now, so that its `willPresent` decides whether the device shows the alert.
        public var willPresent: Bool
    }

    /// The service extension of an app ended without a change, so an alert keeps its original content.
    public struct NotificationUnmodified: EventData {
        public static let type = "push.notification.unmodified"

        public var app: Nullable<String>
        public var cause: UnmodifiedCause = .timeExpired
        public var notification: String
        public var pushType: PushType?
        public var status: ConsoleStatus = .unmodified
        /// Whether the app is on screen now, so that its `willPresent` decides whether the device shows the alert.
        public var willPresent: Bool
    }
}

/// The members of `UNMutableNotificationContent` that a service extension changed. A missing member did not change.
public struct NotificationContent: Record, Equatable {
    /// The largest number of characters of a text. Our choice.
    public static let textLimit = 4096
    /// The largest number of attachments. Our choice.
    public static let attachmentLimit = 10

    /// The names of the files of `UNNotificationAttachment`.
    public var attachments: [String]?
    /// The number on the icon of the app.
    public var badge: Int?
    public var body: String?
    public var categoryIdentifier: String?
    /// The name of the sound; empty for none.
    public var sound: String?
    public var subtitle: String?
    public var title: String?

    enum Constraints {
        static let attachments: Constraint<[String]> = .attachments
        static let badge: Constraint<Int> = .range(0...1_000_000)
        static let body: Constraint<String> = .content
        static let categoryIdentifier: Constraint<String> = .text(0...128)
        static let sound: Constraint<String> = .text(0...256)
        static let subtitle: Constraint<String> = .content
        static let title: Constraint<String> = .content
    }

    /// The names of the changed members.
    public var changes: [String] {
        let members: [(name: String, isChanged: Bool)] = [
            ("attachments", attachments != nil), ("badge", badge != nil), ("body", body != nil),
            ("categoryIdentifier", categoryIdentifier != nil),
            ("sound", sound != nil), ("subtitle", subtitle != nil), ("title", title != nil),
        ]
        return members.filter(\.isChanged).map(\.name)
    }
}

/// The reason why an alert keeps its content although its app has a service extension.
public enum UnmodifiedCause: String, WireEnum {
    /// The extension did not return within its time.
    case timeExpired
    /// The extension returned the original content.
    case unchanged
    /// The extension removed the text of the alert.
    case noAlertText
    /// The device was switched off while the extension ran.
    case deviceOff
    /// The device has too many pending notifications to wait for the extension.
    case notAwaited
}

extension Constraint where T == [String] {
    fileprivate static var attachments: Constraint<[String]> {
        Constraint(
            "must be at most \(NotificationContent.attachmentLimit) names of files, each with 1 to 256 characters",
            keywords: [
                ("maxItems", .int(NotificationContent.attachmentLimit)),
                ("items", ["type": "string", "minLength": 1, "maxLength": 256]),
            ]
        ) { names in
            names.count <= NotificationContent.attachmentLimit
                && names.allSatisfy { (1...256).contains($0.unicodeScalars.count) }
        }
    }
}

extension Constraint where T == String {
    /// A text of an alert or of the user. It may have line breaks.
    static var content: Constraint<String> {
        Constraint(
            "must have at most \(NotificationContent.textLimit) characters",
            keywords: [("maxLength", .int(NotificationContent.textLimit))]
        ) { $0.unicodeScalars.count <= NotificationContent.textLimit }
    }
}
