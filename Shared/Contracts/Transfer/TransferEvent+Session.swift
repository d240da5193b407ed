public import Records
public import Timeline

extension TransferEvent {
    /// An app created a background session.
    public struct SessionCreated: EventData {
        public static let type = "transfer.session.created"

        public var app: Nullable<String>
        public var configuration = SessionConfiguration()
        /// The session's identifier, as the app chose it.
        public var session: String
    }

    /// An app created a session again that was there still, and has its tasks again.
    public struct SessionAttached: EventData {
        public static let type = "transfer.session.attached"

        public var app: Nullable<String>
        /// For the tasks from now on.
        public var configuration = SessionConfiguration()
        public var session: String
    }

    /// A session takes no more tasks, and is gone when those that it has are finished and told.
    public struct SessionInvalidated: EventData {
        public static let type = "transfer.session.invalidated"

        public var app: Nullable<String>
        /// `invalidateAndCancel` rather than `finishTasksAndInvalidate`.
        public var cancels: Bool
        public var session: String
    }

    /// The delegate was told of finished tasks, in the order in which they finished.
    public struct EventsDelivered: EventData {
        public static let type = "transfer.events.delivered"

        public var app: Nullable<String>
        /// `urlSessionDidFinishEvents(forBackgroundURLSession:)` followed.
        public var finishesEvents: Bool
        public var session: String
        public var tasks: [Int]
    }

    /// A background session has events for its app, which is not in the foreground.
    public struct WakeRequested: EventData {
        public static let type = "transfer.wake.requested"

        public var app: Nullable<String>
        /// The session's identifier, as the app chose it.
        public var session: String
    }

    /// The app runs for a session's events.
    public struct WakeBegun: EventData {
        public static let type = "transfer.wake.begun"

        public var app: Nullable<String>
        public var deadline: Instant
        public var session: String
        /// `lifecycle`'s identifier.
        public var wake: String
    }

    /// The app posted the session's completion handler, or did not get so far.
    public struct WakeEnded: EventData {
        public static let type = "transfer.wake.ended"

        public var app: Nullable<String>
        public var outcome: TransferWakeOutcome = .completed
        /// Why it was not woken.
        public var refusal: WakeRefusal?
        public var session: String
    }
}
