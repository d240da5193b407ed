public import Records
public import Timeline

extension TransferEvent {
    /// An app created a background session.
    public struct SessionCreated: EventData {
        public static let type = "transfer.session.created"
        public static let summary = "An app created a background session."

        public var app: String?
        /// The session's identifier, as the app chose it.
        public var session = ""
        public var configuration = SessionConfiguration()

        public init() {}

        public init(app: String, session: String, configuration: SessionConfiguration) {
            self.app = app
            self.session = session
            self.configuration = configuration
        }

        public mutating func visit<V: FieldVisitor>(_ fields: inout V) {
            fields.field("app", &app)
            fields.field("configuration", &configuration)
            fields.field("session", &session)
        }
    }

    /// An app created a session again that was there still, and has its tasks again.
    public struct SessionAttached: EventData {
        public static let type = "transfer.session.attached"
        public static let summary = "An app created a session again that was there still, and has its tasks again."

        public var app: String?
        public var session = ""
        /// For the tasks from now on.
        public var configuration = SessionConfiguration()

        public init() {}

        public init(app: String, session: String, configuration: SessionConfiguration) {
            self.app = app
            self.session = session
            self.configuration = configuration
        }

        public mutating func visit<V: FieldVisitor>(_ fields: inout V) {
            fields.field("app", &app)
            fields.field("configuration", &configuration)
            fields.field("session", &session)
        }
    }

    /// A session takes no more tasks, and is gone when those that it has are finished and told.
    public struct SessionInvalidated: EventData {
        public static let type = "transfer.session.invalidated"
        public static let summary =
            "A session takes no more tasks, and is gone when those that it has are finished and told."

        public var app: String?
        public var session = ""
        /// `invalidateAndCancel` rather than `finishTasksAndInvalidate`.
        public var cancels = false

        public init() {}

        public init(app: String, session: String, cancels: Bool) {
            self.app = app
            self.session = session
            self.cancels = cancels
        }

        public mutating func visit<V: FieldVisitor>(_ fields: inout V) {
            fields.field("app", &app)
            fields.field("cancels", &cancels)
            fields.field("session", &session)
        }
    }

    /// The delegate was told of finished tasks, in the order in which they finished.
    public struct EventsDelivered: EventData {
        public static let type = "transfer.events.delivered"
        public static let summary = "The delegate was told of finished tasks, in the order in which they finished."

        public var app: String?
        public var session = ""
        public var tasks: [Int] = []
        /// `urlSessionDidFinishEvents(forBackgroundURLSession:)` followed.
        public var finishesEvents = false

        public init() {}

        public init(app: String, session: String, tasks: [Int], finishesEvents: Bool) {
            self.app = app
            self.session = session
            self.tasks = tasks
            self.finishesEvents = finishesEvents
        }

        public mutating func visit<V: FieldVisitor>(_ fields: inout V) {
            fields.field("app", &app)
            fields.field("finishesEvents", &finishesEvents)
            fields.field("session", &session)
            fields.field("tasks", &tasks)
        }
    }

    /// A background session has events for its app, which is not in the foreground.
    public struct WakeRequested: EventData {
        public static let type = "transfer.wake.requested"
        public static let summary = "A background session has events for its app, which is not in the foreground."

        public var app: String?
        /// The session's identifier, as the app chose it.
        public var session = ""

        public init() {}

        public init(app: String, session: String) {
            self.app = app
            self.session = session
        }

        public mutating func visit<V: FieldVisitor>(_ fields: inout V) {
            fields.field("app", &app)
            fields.field("session", &session)
        }
    }

    /// The app runs for a session's events.
    public struct WakeBegun: EventData {
        public static let type = "transfer.wake.begun"
        public static let summary = "The app runs for a session's events."

        public var app: String?
        public var session = ""
        /// `lifecycle`'s identifier.
        public var wake = ""
        public var deadline = Instant.epoch

        public init() {}

        public init(app: String, session: String, wake: String, deadline: Instant) {
            self.app = app
            self.session = session
            self.wake = wake
            self.deadline = deadline
        }

        public mutating func visit<V: FieldVisitor>(_ fields: inout V) {
            fields.field("app", &app)
            fields.field("deadline", &deadline)
            fields.field("session", &session)
            fields.field("wake", &wake)
        }
    }

    /// The app posted the session's completion handler, or did not get so far.
    public struct WakeEnded: EventData {
        public static let type = "transfer.wake.ended"
        public static let summary = "The app posted the session's completion handler, or did not get so far."

        public var app: String?
        public var session = ""
        public var outcome = TransferWakeOutcome.completed
        /// Why it was not woken.
        public var refusal: WakeRefusal?

        public init() {}

        public init(app: String, session: String, outcome: TransferWakeOutcome, refusal: WakeRefusal? = nil) {
            self.app = app
            self.session = session
            self.outcome = outcome
            self.refusal = refusal
        }

        public mutating func visit<V: FieldVisitor>(_ fields: inout V) {
            fields.field("app", &app)
            fields.field("outcome", &outcome)
            fields.omittable("refusal", &refusal)
            fields.field("session", &session)
        }
    }
}
