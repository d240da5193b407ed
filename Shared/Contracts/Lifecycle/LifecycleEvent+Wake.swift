public import Records
public import Timeline

extension LifecycleEvent {
    /// The system let an app run in the background, for a reason and a limited time.
    public struct AppWoken: EventData {
        public static let type = "lifecycle.app.woken"

        public var app: Nullable<String>
        /// Delivered to the app, in this order.
        public var callbacks: [Callback]
        /// When the app is killed unless the wake was completed.
        public var deadline: Instant
        /// False for a task without an expiration handler: such a wake kills nobody, the system completes it as unsuccessful.
        public var expirationHandler: Bool?
        /// The state before.
        public var from: AppState
        /// What exactly it is for, where the reason has several kinds.
        public var kind: WakeKind?
        /// In seconds.
        public var limit: Interval
        /// What the handler is given: of a push, what the provider sent.
        public var payload: JSON?
        public var reason: WakeReason
        /// Whose wake it is: the id of the fetch or of the notification, or the identifier of the session.
        public var request: String?
        /// The state after it.
        public var state: AppState = .background
        /// What background tasks get in this run, in seconds; nil where the app already ran.
        public var taskTime: Interval?
        public var wake: String
    }

    /// The app finished what it was woken for, and the switcher got a new snapshot. The system does it in the place of a task
    /// without an expiration handler, as unsuccessful.
    public struct WakeCompleted: EventData {
        public static let type = "lifecycle.wake.completed"

        public var app: Nullable<String>
        /// What the handler loaded, as the device says.
        public var bytesReceived: Int?
        public var kind: WakeKind?
        public var reason: WakeReason
        /// Whose wake it was.
        public var request: String?
        /// What the app found, where the reason asks for it.
        public var result: WakeResult?
        /// What the app shows in the switcher from now on.
        public var snapshotLabel: String?
        /// `setTaskCompleted(success:)`, of a task request.
        public var success: Bool?
        public var wake: String
    }

    /// An app was not woken, and why.
    public struct WakeRefused: EventData {
        public static let type = "lifecycle.wake.refused"

        public var app: Nullable<String>
        public var kind: WakeKind?
        public var reason: WakeReason
        public var refusal: WakeRefusal
        /// Whose wake it would have been.
        public var request: String?
    }

    /// The time of a wake is nearly over, or was cut short, and its handler is told so.
    public struct WakeExpiring: EventData {
        public static let type = "lifecycle.wake.expiring"

        public var app: Nullable<String>
        /// When the app is killed unless the wake was completed; earlier than it was where the time is cut short.
        public var deadline: Instant
        public var request: String?
        public var wake: String
    }

    /// The time of a wake that nobody has to complete was over. Nothing is killed for that.
    public struct WakeExpired: EventData {
        public static let type = "lifecycle.wake.expired"

        public var app: Nullable<String>
        public var request: String?
        public var wake: String
    }
}
