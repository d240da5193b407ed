public import Records
public import Timeline

extension TransferEvent {
    /// An app created a background session.
    public struct SessionCreated: EventData {
        public static let type = "transfer.session.created"

        public var app: Nullable<String>
        public var configuration = SessionConfiguration()
        /// The process that is connected to the session.
        public var process: Defaulted<SessionProcess> = SessionProcess.app
        /// The identifier of the session, chosen by the app.
        public var session: String
    }

    /// An app recreated an existing session and got its tasks back.
    public struct SessionAttached: EventData {
        public static let type = "transfer.session.attached"

        public var app: Nullable<String>
        /// The configuration of new tasks.
        public var configuration = SessionConfiguration()
        /// The process that is connected to the session.
        public var process: Defaulted<SessionProcess> = SessionProcess.app
        public var session: String
    }

    /// The process of an app extension ended. The app gets the remaining callbacks of its session.
    public struct SessionDetached: EventData {
        public static let type = "transfer.session.detached"

        public var app: Nullable<String>
        public var session: String
    }

    /// A session was invalidated. It accepts no new tasks and ends after its last callback.
    public struct SessionInvalidated: EventData {
        public static let type = "transfer.session.invalidated"

        public var app: Nullable<String>
        /// Whether the call was `invalidateAndCancel`; otherwise it was `finishTasksAndInvalidate`.
        public var cancels: Bool
        public var session: String
    }

    /// The delegate got the callbacks of finished tasks, in the order in which they finished.
    public struct EventsDelivered: EventData {
        public static let type = "transfer.events.delivered"

        public var app: Nullable<String>
        /// Whether `urlSessionDidFinishEvents(forBackgroundURLSession:)` followed.
        public var finishesEvents: Bool
        public var session: String
        public var tasks: [Int]
    }

    /// A background session had events for an app outside the foreground and requested a wake.
    public struct WakeRequested: EventData {
        public static let type = "transfer.wake.requested"

        public var app: Nullable<String>
        /// The identifier of the session, chosen by the app.
        public var session: String
    }

    /// The system woke an app for the events of a session.
    public struct WakeBegun: EventData {
        public static let type = "transfer.wake.begun"

        public var app: Nullable<String>
        public var deadline: Instant
        public var session: String
        /// The id of the wake in `lifecycle`.
        public var wake: String
    }

    /// The wake for the events of a session ended or was refused.
    public struct WakeEnded: EventData {
        public static let type = "transfer.wake.ended"

        public var app: Nullable<String>
        public var outcome: TransferWakeOutcome = .completed
        /// The reason why the app was not woken.
        public var refusal: WakeRefusal?
        public var session: String
    }
}
