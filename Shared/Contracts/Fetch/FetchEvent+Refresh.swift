public import Records
public import Timeline

extension FetchEvent {
    /// A slot was chosen for the next refresh of an app, or it became clear that it must wait.
    public struct RefreshScheduled: EventData {
        public static let type = "fetch.refresh.scheduled"
        public static let summary = "A slot was chosen for an app's next refresh, or it became clear that it must wait."

        public var app: String?
        /// The chosen moment, which is held for it; nil while factors block it, or while nothing is wanted.
        public var at: Instant?
        /// The moment that would be best if neither the ceiling of the suite nor another wake of the device were in its way; nil
        /// where that is the chosen one.
        public var aim: Instant?
        /// The ceiling of the suite, wakes a second, under which it is held; nil where there is none.
        public var ceiling: Int?
        /// When the budgets allow it; nil where they do by then.
        public var fundedAt: Instant?
        /// When interval and floor have passed; nil where no refresh is wanted.
        public var earliest: Instant?
        /// The factors because of which it must wait, until they change.
        public var blockers: [FetchFactor] = []

        public init() {}

        public mutating func visit<V: FieldVisitor>(_ fields: inout V) {
            fields.omittable("aim", &aim)
            fields.field("app", &app)
            fields.omittable("at", &at)
            fields.defaulted("blockers", &blockers)
            fields.omittable("ceiling", &ceiling)
            fields.omittable("earliest", &earliest)
            fields.omittable("fundedAt", &fundedAt)
        }
    }

    /// The moment for a background refresh of an app has come.
    public struct RefreshDue: EventData {
        public static let type = "fetch.refresh.due"
        public static let summary = "The moment for a background refresh of an app has come."

        public var app: String?
        /// Names the refresh in everything that follows from it.
        public var fetch = ""
        /// Asked for by a tester, past the scheduler.
        public var simulated = false
        /// When it is given up unless `lifecycle` has answered.
        public var answerBy: Instant?

        public init() {}

        public init(app: String, fetch: String, simulated: Bool = false, answerBy: Instant? = nil) {
            self.app = app
            self.fetch = fetch
            self.simulated = simulated
            self.answerBy = answerBy
        }

        public mutating func visit<V: FieldVisitor>(_ fields: inout V) {
            fields.omittable("answerBy", &answerBy)
            fields.field("app", &app)
            fields.field("fetch", &fetch)
            fields.defaulted("simulated", &simulated)
        }
    }

    /// The app was woken for a refresh.
    public struct RefreshStarted: EventData {
        public static let type = "fetch.refresh.started"
        public static let summary = "The app was woken for a refresh."

        public var app: String?
        public var fetch = ""
        public var wake = ""
        /// When it is given up unless its end became known. Later than the limit of the wake, which `lifecycle` owns.
        public var answerBy = Instant.epoch

        public init() {}

        public init(app: String, fetch: String, wake: String, answerBy: Instant) {
            self.app = app
            self.fetch = fetch
            self.wake = wake
            self.answerBy = answerBy
        }

        public mutating func visit<V: FieldVisitor>(_ fields: inout V) {
            fields.field("answerBy", &answerBy)
            fields.field("app", &app)
            fields.field("fetch", &fetch)
            fields.field("wake", &wake)
        }
    }

    /// A refresh ended, one way or another: the whole record of it.
    public struct RefreshRecorded: EventData {
        public static let type = "fetch.refresh.recorded"
        public static let summary = "A refresh ended, one way or another: the whole record of it."

        public var app: String?
        public var fetch = ""
        public var dueAt = Instant.epoch
        /// When the app was woken; nil where it was not.
        public var startedAt: Instant?
        public var completedAt = Instant.epoch
        public var result = FetchResult.failed
        /// Why it never began: a word of `lifecycle`'s refusals, or `unanswered`.
        public var refusal: String?
        /// From start to completion; nil where it never began.
        public var elapsedSeconds: Interval?
        public var simulated = false
        /// What its handler loaded, as the device says; nil where it does not.
        public var bytesReceived: Int?
        /// What it spent of the energy budgets: nothing on a charger.
        public var millijoules = 0
        /// The beginning of the day whose budgets it is charged to; nil where it spent nothing.
        public var day: Instant?

        public init() {}

        public mutating func visit<V: FieldVisitor>(_ fields: inout V) {
            fields.field("app", &app)
            fields.omittable("bytesReceived", &bytesReceived)
            fields.field("completedAt", &completedAt)
            fields.omittable("day", &day)
            fields.field("dueAt", &dueAt)
            fields.omittable("elapsedSeconds", &elapsedSeconds)
            fields.field("fetch", &fetch)
            fields.defaulted("millijoules", &millijoules)
            fields.omittable("refusal", &refusal)
            fields.field("result", &result)
            fields.defaulted("simulated", &simulated)
            fields.omittable("startedAt", &startedAt)
        }
    }
}
