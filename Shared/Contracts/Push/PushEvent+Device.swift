public import Records
public import Timeline

extension PushEvent {
    /// `push` recorded a device or a change of its registration.
    public struct DeviceUpdated: EventData {
        public static let type = "push.device.updated"

        public var fleet: String?
        public var profile: ProfileName = .ios18
        /// The behaviour of a built-in device; nil for any other.
        public var simulate: BuiltInDevice?
        /// The local times of the scheduled summary; nil for the usual ones.
        public var summaryTimes: [String]?
        /// A name of the IANA time zone database.
        public var timeZone: String?
    }

    /// A device was removed. `push` keeps only its invalid tokens.
    public struct DeviceRemoved: EventData {
        public static let type = "push.device.removed"
    }

    /// A removed device no longer remembers its inactive tokens, because its history is erased.
    public struct DeviceErased: EventData {
        public static let type = "push.device.erased"
    }

    /// The conditions of a device that affect delivery changed.
    public struct ConditionsChanged: EventData {
        public static let type = "push.conditions.changed"

        public var charging: Bool
        /// Do Not Disturb; nil if it was never reported.
        public var doNotDisturb: DoNotDisturb?
        /// The Focus of the user; nil if it was never reported.
        public var focus: Focus?
        public var locked: Bool
        public var lowPowerMode: Bool
        public var network: NetworkKind = .wifi
        public var poweredOn = true
    }

    /// `push` recorded an installed app, or a change of its manifest or of the user's settings for it.
    public struct AppUpdated: EventData {
        public static let type = "push.app.updated"

        public var app: Nullable<String>
        /// Whether the app has a notification service extension.
        public var hasServiceExtension: Bool
        /// The user's settings for the notifications of the app.
        public var notifications: NotificationSettings
        public var state: AppPresence = .notRunning
        /// The time at which the user last opened the app; nil if unknown.
        public var usedAt: Instant?
        /// Whether the app declares a background mode that lets a notification wake it.
        public var wakes: Bool
    }

    /// The state of an app changed, or the user opened it. It is frequent, so it has no settings.
    public struct PresenceChanged: EventData {
        public static let type = "push.presence.changed"

        public var app: Nullable<String>
        public var state: AppPresence = .notRunning
        /// The time at which the user opened the app; nil without an opening.
        public var usedAt: Instant?
    }

    /// An app was uninstalled from a device.
    public struct AppRemoved: EventData {
        public static let type = "push.app.removed"

        public var app: Nullable<String>
    }

    /// A device opened its connection for notifications.
    public struct DeviceConnected: EventData {
        public static let type = "push.device.connected"

        public var connection: String
        /// The UUID of the process that holds the stream.
        public var holder: String?
        public var kind: ConnectionKind = .stream
        /// The time at which a polling device becomes disconnected unless it polls again.
        public var until: Instant?
    }

    /// A polling device polled again.
    public struct DevicePolled: EventData {
        public static let type = "push.device.polled"

        public var connection: String
        /// The time at which the device becomes disconnected unless it polls again.
        public var until: Instant
    }

    /// The connection of a device ended. Notifications without an acknowledgement are stored again.
    public struct DeviceDisconnected: EventData {
        public static let type = "push.device.disconnected"

        public var cause: ConnectionEnd = .closed
        public var connection: String
    }

    /// An app registered and got a device token.
    public struct TokenRegistered: EventData {
        public static let type = "push.token.registered"

        /// The Live Activity of the token; nil for other kinds.
        public var activity: String?
        public var app: Nullable<String>
        public var environment: PushEnvironment = .sandbox
        public var kind: TokenKind = .apns
        /// The device token, 64 hexadecimal digits.
        public var token: String
    }

    /// A device token became invalid. Providers get `Unregistered` for it.
    public struct TokenUnregistered: EventData {
        public static let type = "push.token.unregistered"

        /// The Live Activity of the token; nil for other kinds.
        public var activity: String?
        public var app: Nullable<String>
        public var cause: TokenEnd = .unregistered
        public var environment: PushEnvironment = .sandbox
        public var kind: TokenKind = .apns
        public var token: String
    }

    /// An app changed its subscriptions to broadcast channels.
    public struct ChannelsChanged: EventData {
        public static let type = "push.channels.changed"

        public var app: Nullable<String>
        /// All channels with a subscription from now on.
        public var channels: [String]
    }

    /// The throttling of silent notifications on a device was switched on or off.
    public struct ThrottleChanged: EventData {
        public static let type = "push.throttle.changed"

        public var enabled = true
    }

    /// A silent notification was charged to the budget of its app or refunded.
    public struct BudgetChanged: EventData {
        public static let type = "push.budget.changed"

        public var app: Nullable<String>
        /// Whether the notification was charged; false if it was refunded.
        public var charged: Bool
        /// The day, counted from 1970-01-01.
        public var day: Int
        /// The time at which the budget is full again.
        public var fullAt: Instant
        public var notification: String
        /// The charges of the day for all apps of the device.
        public var spentToday: Int
    }
}
