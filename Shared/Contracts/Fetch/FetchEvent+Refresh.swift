public import Records
public import Timeline

extension FetchEvent {
    /// A slot was chosen for the next refresh of an app, or it became clear that it must wait.
    public struct RefreshScheduled: EventData {
        public static let type = "fetch.refresh.scheduled"

        /// The moment that would be best if neither the ceiling of the suite nor another wake of the device were in its way; nil
        /// where that is the chosen one.
        public var aim: Instant?
        public var app: Nullable<String> = nil
        /// The chosen moment, which is held for it; nil while factors block it, or while nothing is wanted.
        public var at: Instant?
        /// The factors because of which it must wait, until they change.
        public var blockers: Defaulted<[FetchFactor]> = []
        /// The ceiling of the suite, wakes a second, under which it is held; nil where there is none.
        public var ceiling: Int?
        /// When interval and floor have passed; nil where no refresh is wanted.
        public var earliest: Instant?
        /// When the budgets allow it; nil where they do by then.
        public var fundedAt: Instant?
    }

    /// The moment for a background refresh of an app has come.
    public struct RefreshDue: EventData {
        public static let type = "fetch.refresh.due"

        /// When it is given up unless `lifecycle` has answered.
        public var answerBy: Instant?
        public var app: Nullable<String>
        /// Names the refresh in everything that follows from it.
        public var fetch: String
        /// Asked for by a tester, past the scheduler.
        public var simulated: Defaulted<Bool> = false
    }

    /// The app was woken for a refresh.
    public struct RefreshStarted: EventData {
        public static let type = "fetch.refresh.started"

        /// When it is given up unless its end became known. Later than the limit of the wake, which `lifecycle` owns.
        public var answerBy: Instant
        public var app: Nullable<String>
        public var fetch: String
        public var wake: String
    }

    /// A refresh ended, one way or another: the whole record of it.
    public struct RefreshRecorded: EventData {
        public static let type = "fetch.refresh.recorded"

        public var app: Nullable<String> = nil
        /// What its handler loaded, as the device says; nil where it does not.
        public var bytesReceived: Int?
        public var completedAt = Instant.epoch
        /// The beginning of the day whose budgets it is charged to; nil where it spent nothing.
        public var day: Instant?
        public var dueAt = Instant.epoch
        /// From start to completion; nil where it never began.
        public var elapsedSeconds: Interval?
        public var fetch = ""
        /// What it spent of the energy budgets: nothing on a charger.
        public var millijoules: Defaulted<Int> = 0
        /// Why it never began: a word of `lifecycle`'s refusals, or `unanswered`.
        public var refusal: String?
        public var result = FetchResult.failed
        public var simulated: Defaulted<Bool> = false
        /// When the app was woken; nil where it was not.
        public var startedAt: Instant?
    }
}
