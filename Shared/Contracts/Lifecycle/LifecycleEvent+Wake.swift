public import Records
public import Timeline

extension LifecycleEvent {
    /// The system woke an app in the background for a limited time, or started a continued processing task of an app on
    /// screen.
    public struct AppWoken: EventData {
        public static let type = "lifecycle.app.woken"

        public var app: Nullable<String>
        /// The delegate methods that the system calls, in this order.
        public var callbacks: [Callback]
        /// The time at which the system kills the app unless the wake is completed. On screen the time is not limited.
        public var deadline: Instant
        /// False for a task without an expiration handler. At the deadline, the system then completes the task as
        /// unsuccessful and does not kill the app.
        public var expirationHandler: Bool?
        /// The previous state.
        public var from: AppState
        /// The kind of the wake; nil if the reason has only one kind.
        public var kind: WakeKind?
        /// The time limit in seconds.
        public var limit: Interval
        /// False for a VoIP push that need not be reported as a call: before iOS 13.
        public var mustReportCall: Bool?
        /// The argument of the handler: the provider's payload for a push.
        public var payload: JSON?
        public var reason: WakeReason
        /// The cause of the wake: the id of the refresh, task run or notification, or the identifier of the session.
        public var request: String?
        /// The state after the event.
        public var state: AppState = .background
        /// The time for background tasks in this run, in seconds; nil if the app already ran.
        public var taskTime: Interval?
        public var wake: String
    }

    /// A wake of an app was completed. The app switcher gets a new snapshot. The system itself completes a task
    /// without an expiration handler, as unsuccessful.
    public struct WakeCompleted: EventData {
        public static let type = "lifecycle.wake.completed"

        public var app: Nullable<String>
        /// The bytes that the handler received, as reported by the device.
        public var bytesReceived: Int?
        public var kind: WakeKind?
        /// The answer to a push of the framework Push to Talk.
        public var pushResult: PushToTalkResult?
        public var reason: WakeReason
        /// The cause of the wake, as in `lifecycle.app.woken`.
        public var request: String?
        /// The result of the handler if its reason requires one.
        public var result: WakeResult?
        /// The label of the app's new snapshot in the app switcher.
        public var snapshotLabel: String?
        /// The argument of `setTaskCompleted(success:)`; nil unless the wake is for a task request.
        public var success: Bool?
        public var wake: String
    }

    /// The system did not wake an app and gave the reason.
    public struct WakeRefused: EventData {
        public static let type = "lifecycle.wake.refused"

        public var app: Nullable<String>
        public var kind: WakeKind?
        public var reason: WakeReason
        public var refusal: WakeRefusal
        /// The cause of the requested wake, as in `lifecycle.app.woken`.
        public var request: String?
    }

    /// A continued processing task reported progress.
    public struct WakeProgressed: EventData {
        public static let type = "lifecycle.wake.progressed"

        public var app: Nullable<String>
        public var completedUnitCount: Int
        /// The time at which the task expires without further progress; nil on screen, where it has no limit.
        public var deadline: Instant?
        public var request: String?
        public var totalUnitCount: Int
        public var wake: String
    }

    /// The time of a wake was nearly over or was shortened, and the system notified its handler.
    public struct WakeExpiring: EventData {
        public static let type = "lifecycle.wake.expiring"

        public var app: Nullable<String>
        /// The time at which the system kills the app unless the wake is completed. It is earlier than before if the
        /// time was shortened.
        public var deadline: Instant
        public var request: String?
        public var wake: String
    }

    /// The time of a wake that needs no completion ended. The system kills no process.
    public struct WakeExpired: EventData {
        public static let type = "lifecycle.wake.expired"

        public var app: Nullable<String>
        public var request: String?
        public var wake: String
    }
}
