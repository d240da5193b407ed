public import Records
public import Timeline

extension LifecycleEvent {
    /// The app asked to be kept from suspension for a piece of work.
    public struct TaskBegun: EventData {
        public static let type = "lifecycle.task.begun"
        public static let summary = "The app asked to be kept from suspension for a piece of work."

        public var app: String?
        /// Whether it wants to be told shortly before the time is over.
        public var expirationHandler: Bool = false
        public var name: String?
        /// The app-wide rest; nil in the foreground, where it is unlimited.
        public var secondsRemaining: Interval?
        public var task: String = ""

        public init() {}

        public init(
            app: String, expirationHandler: Bool, name: String? = nil, secondsRemaining: Interval? = nil,
            task: String
        ) {
            self.app = app
            self.expirationHandler = expirationHandler
            self.name = name
            self.secondsRemaining = secondsRemaining
            self.task = task
        }

        public mutating func visit<V: FieldVisitor>(_ fields: inout V) {
            fields.field("app", &app)
            fields.field("expirationHandler", &expirationHandler)
            fields.omittable("name", &name)
            fields.omittable("secondsRemaining", &secondsRemaining)
            fields.field("task", &task)
        }
    }

    /// The app said that a background task is done.
    public struct TaskEnded: EventData {
        public static let type = "lifecycle.task.ended"
        public static let summary = "The app said that a background task is done."

        public var app: String?
        /// False where no such task was open, which is harmless.
        public var known: Bool = false
        public var task: String = ""

        public init() {}

        public init(app: String, known: Bool, task: String) {
            self.app = app
            self.known = known
            self.task = task
        }

        public mutating func visit<V: FieldVisitor>(_ fields: inout V) {
            fields.field("app", &app)
            fields.field("known", &known)
            fields.field("task", &task)
        }
    }

    /// The time of the background tasks is nearly over: the expiration handler runs.
    public struct TaskExpiring: EventData {
        public static let type = "lifecycle.task.expiring"
        public static let summary = "The time of the background tasks is nearly over: the expiration handler runs."

        public var app: String?
        /// When the app is killed if the task is still open.
        public var deadline: Instant = .epoch
        public var task: String = ""

        public init() {}

        public init(app: String, deadline: Instant, task: String) {
            self.app = app
            self.deadline = deadline
            self.task = task
        }

        public mutating func visit<V: FieldVisitor>(_ fields: inout V) {
            fields.field("app", &app)
            fields.field("deadline", &deadline)
            fields.field("task", &task)
        }
    }
}
