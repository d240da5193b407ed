public import Records
public import Timeline

// Task requests, from their submission to the moment when they are due.
extension FetchEvent {
    /// An app submitted a task request. One of the same identifier that was pending is replaced.
    public struct TaskSubmitted: EventData {
        public static let type = "fetch.task.submitted"
        public static let summary = "An app submitted a task request; a pending one of its identifier is replaced."

        public var app: String?
        public var request = BackgroundTaskRequest()

        public init() {}

        public init(app: String, request: BackgroundTaskRequest) {
            self.app = app
            self.request = request
        }

        public mutating func visit<V: FieldVisitor>(_ fields: inout V) {
            fields.field("app", &app)
            // Its members are the event's own.
            request.visit(&fields)
        }
    }

    /// A pending task request was cancelled. A run of it that is under way goes on.
    public struct TaskCancelled: EventData {
        public static let type = "fetch.task.cancelled"
        public static let summary = "A pending task request was cancelled."

        public var app: String?
        public var identifier = ""

        public init() {}

        public init(app: String, identifier: String) {
            self.app = app
            self.identifier = identifier
        }

        public mutating func visit<V: FieldVisitor>(_ fields: inout V) {
            fields.field("app", &app)
            fields.field("identifier", &identifier)
        }
    }

    /// A moment was chosen for a task request, or it became clear that it must wait.
    public struct TaskScheduled: EventData {
        public static let type = "fetch.task.scheduled"
        public static let summary = "A moment was chosen for a task request, or it became clear that it must wait."

        public var app: String?
        public var identifier = ""
        /// The chosen moment, which is held for it; nil while factors block it.
        public var at: Instant?
        /// The moment that would be best if neither the ceiling of the suite nor another wake of the device were in its way; nil
        /// where that is the chosen one.
        public var aim: Instant?
        /// The ceiling of the suite, wakes a second, under which it is held; nil where there is none.
        public var ceiling: Int?
        /// It is not tried before this; nil while factors block it.
        public var earliest: Instant?
        /// The factors because of which it must wait, until they change.
        public var blockers: [TaskFactor] = []

        public init() {}

        public mutating func visit<V: FieldVisitor>(_ fields: inout V) {
            fields.omittable("aim", &aim)
            fields.field("app", &app)
            fields.omittable("at", &at)
            fields.defaulted("blockers", &blockers)
            fields.omittable("ceiling", &ceiling)
            fields.omittable("earliest", &earliest)
            fields.field("identifier", &identifier)
        }
    }

    /// The moment for a task request of an app has come. It stays pending until the app was woken.
    public struct TaskDue: EventData {
        public static let type = "fetch.task.due"
        public static let summary = "The moment for a task request of an app has come."

        public var app: String?
        /// The identifier that the app registered with `BGTaskScheduler`.
        public var identifier: String = ""
        public var kind: TaskRequestKind = .placeholder
        /// Names this run of it in everything that follows.
        public var request: String = ""
        /// Whether the launch handler sets `BGTask.expirationHandler`.
        public var expirationHandler = true
        /// Asked for by a tester, past the scheduler.
        public var simulated = false
        /// When it is given up unless `lifecycle` has answered.
        public var answerBy: Instant?

        public init() {}

        public init(
            app: String, identifier: String, kind: TaskRequestKind, request: String, expirationHandler: Bool = true,
            simulated: Bool = false, answerBy: Instant? = nil
        ) {
            self.app = app
            self.identifier = identifier
            self.kind = kind
            self.request = request
            self.expirationHandler = expirationHandler
            self.simulated = simulated
            self.answerBy = answerBy
        }

        public mutating func visit<V: FieldVisitor>(_ fields: inout V) {
            fields.omittable("answerBy", &answerBy)
            fields.field("app", &app)
            fields.defaulted("expirationHandler", &expirationHandler)
            fields.field("identifier", &identifier)
            fields.field("kind", &kind)
            fields.field("request", &request)
            fields.defaulted("simulated", &simulated)
        }
    }
}
