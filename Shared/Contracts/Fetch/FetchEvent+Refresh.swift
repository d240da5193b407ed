public import Records
public import Timeline

extension FetchEvent {
    /// The next refresh of an app got a time slot, or conditions made it wait.
    public struct RefreshScheduled: EventData {
        public static let type = "fetch.refresh.scheduled"

        /// The best time without the suite's limit and without other wakes of the device; nil if it is the reserved
        /// time slot.
        public var aim: Instant?
        public var app: Nullable<String> = nil
        /// The reserved time slot; nil while factors block the refresh or no refresh is wanted.
        public var at: Instant?
        /// The factors that block it until they change.
        public var blockers: Defaulted<[FetchFactor]> = []
        /// The suite's limit for the reservation, in wakes per second; nil without a limit.
        public var ceiling: Int?
        /// The time at which the interval and the minimum of the system have passed; nil if no refresh is wanted.
        public var earliest: Instant?
        /// The time from which the budgets allow the refresh; nil if they allow it by then.
        public var fundedAt: Instant?
    }

    /// A background refresh of an app became due.
    public struct RefreshDue: EventData {
        public static let type = "fetch.refresh.due"

        /// The time at which it is abandoned unless `lifecycle` has answered.
        public var answerBy: Instant?
        public var app: Nullable<String>
        /// The id of the refresh. Later events refer to it.
        public var fetch: String
        /// Whether a tester requested it without the scheduler.
        public var simulated: Defaulted<Bool> = false
    }

    /// The system woke an app for a refresh.
    public struct RefreshStarted: EventData {
        public static let type = "fetch.refresh.started"

        /// The time at which it is abandoned unless its end is known. It is later than the limit of the wake, which
        /// `lifecycle` decides.
        public var answerBy: Instant
        public var app: Nullable<String>
        public var fetch: String
        public var wake: String
    }

    /// A refresh ended. The event contains its complete record.
    public struct RefreshRecorded: EventData {
        public static let type = "fetch.refresh.recorded"

        public var app: Nullable<String> = nil
        /// The bytes that the handler received, as reported by the device; nil without a report.
        public var bytesReceived: Int?
        public var completedAt = Instant.epoch
        /// The start of the day whose budgets are charged; nil if nothing was spent.
        public var day: Instant?
        public var dueAt = Instant.epoch
        /// The duration from start to completion; nil if it never began.
        public var elapsedSeconds: Interval?
        public var fetch = ""
        /// The charge to the energy budgets; 0 while the device charges.
        public var millijoules: Defaulted<Int> = 0
        /// The reason why it never began: a refusal of `lifecycle` or `unanswered`.
        public var refusal: String?
        public var result = FetchResult.failed
        public var simulated: Defaulted<Bool> = false
        /// The time at which the app was woken; nil if it was not.
        public var startedAt: Instant?
    }
}
