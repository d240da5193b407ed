public import OrderedCollections
public import Records
public import Timeline

/// The outcome of the devices, apps and pushes in a time range.
public struct Report: Record, Equatable {
    public var apps: [AppReport] = []
    public var begin = Instant.epoch
    /// Moved bytes by kind of network.
    public var bytes: OrderedDictionary<String, Int> = [:]
    /// Whether the range is whole. A simulation or run that is interrupted covers a part of its scenario.
    public var complete = true
    public var devices = 0
    /// Why the report is not complete, as a sentence.
    public var endReason: String?
    public var events = 0
    public var expectations: [ExpectationReport] = []
    /// The kinds of faults in the scenario that had no effect.
    public var ignoredFaults: [String] = []
    /// A push is late if its delay is longer.
    public var lateAfter = Interval.seconds(30)
    public var name = ""
    /// The offsets of ``timeZone`` in the range.
    public var offsets: [ReportOffset] = []
    /// Openings of apps by the hour of the device's day.
    public var openingsByHour: [Int] = []
    /// The source of the figures.
    public var origin = ReportOrigin.simulation
    /// The worst pushes, with the events that led to their outcomes.
    public var pushes: [PushHistory] = []
    /// The disputed rules that were as in the source documents (`readings` of the file of profiles).
    public var readings: [String] = []
    /// The energy of refreshes and tasks, in millijoules.
    public var refreshAndTaskMillijoules = 0
    /// Completed refreshes by the hour of the device's day.
    public var refreshesByHour: [Int] = []
    /// Calls of devices that a service refused, by code.
    public var refusedCalls: OrderedDictionary<String, Int> = [:]
    public var seed: String?
    /// The SHA-256 of all events.
    public var sha256: String?
    public var states = StateHistory()
    /// The time zone of the times in the page: that of most devices; UTC without it. All other times are UTC.
    public var timeZone: String?
    public var until = Instant.epoch
    public var violations: [String] = []

    public init() {}
}

/// The source of the figures of a report.
public enum ReportOrigin: String, WireEnum {
    /// `fleet simulate` and `fleet compare`.
    case simulation
    /// `fleet run --scenario`.
    case run
    /// A time range of the log: `GET /v1/reports` of `ops`.
    case log
}

/// The figures of an app. Durations are percentiles in seconds, `p100` is the largest.
public struct AppReport: Record, Equatable {
    /// The age of the content when the user opens the app.
    public var contentAgeSeconds: OrderedDictionary<String, Interval> = [:]
    public var crashes = 0
    public var id = ""
    /// Processes that the system ended, by code or reason.
    public var kills: OrderedDictionary<String, Int> = [:]
    public var pushes: [PushReport] = []
    /// The time from the due time of a refresh to its completion.
    public var refreshSeconds: OrderedDictionary<String, Interval> = [:]
    public var refreshes = 0
    /// The time from the creation of a transfer to its completion.
    public var transferSeconds: OrderedDictionary<String, Interval> = [:]
    public var transfersCompleted = 0
    public var transfersStarted = 0
    /// Wakes by reason.
    public var wakes: OrderedDictionary<String, Int> = [:]
    /// Refused wakes by reason.
    public var wakesRefused: OrderedDictionary<String, Int> = [:]

    public init() {}
}

/// The pushes of an app with one kind of content. Each sent push is in time, late, never or refused.
public struct PushReport: Record, Equatable {
    public var content = ""
    /// The delays of pushes that arrived, counted by their length.
    public var delayCounts: [DelayCount] = []
    public var delaySeconds: OrderedDictionary<String, Interval> = [:]
    public var delivered = 0
    /// Copies that a fault added. They are not in ``sent``.
    public var doubled = 0
    public var inTime = 0
    public var late = 0
    /// Late pushes by what they waited for last.
    public var lateReasons: OrderedDictionary<String, Int> = [:]
    /// Pushes that did not arrive, by reason.
    public var never: OrderedDictionary<String, Int> = [:]
    /// Pushes that the push service refused, by code.
    public var refused: OrderedDictionary<String, Int> = [:]
    public var sent = 0
    /// Sends without a device token. They are not in ``sent``.
    public var withoutToken = 0

    public init() {}
}

/// The number of delays up to a length, and longer than those of the entry before.
public struct DelayCount: Record, Equatable {
    public var count = 0
    /// Seconds; nil for the last entry, which has no end.
    public var upTo: Interval?

    public init() {}

    public init(_ count: Int, upTo: Interval?) {
        self.count = count
        self.upTo = upTo
    }

    /// The ends of all entries but the last.
    public static let ends: [Interval] = [.seconds(1), .seconds(30), .minutes(5), .hours(1), .hours(6)]
}

/// An expectation of a scenario.
public struct ExpectationReport: Record, Equatable {
    public var met = false
    /// A sentence with the measured values.
    public var text = ""

    public init() {}

    public init(_ text: String, met: Bool) {
        self.text = text
        self.met = met
    }
}

/// The time that apps spent in each state, in steps of equal length.
public struct StateHistory: Record, Equatable {
    /// Seconds of all apps in each step, by the name of the state.
    public var seconds: OrderedDictionary<String, [Int]> = [:]
    public var stepSeconds = 0

    public init() {}
}

/// A push that was late or did not arrive, with the events that led there.
public struct PushHistory: Record, Equatable {
    public var app = ""
    public var arrivedAt: Instant?
    public var content = ""
    public var device = ""
    public var notification = ""
    public var sentAt = Instant.epoch
    public var steps: [PushStep] = []
    /// The verdict: `late` or `never`.
    public var verdict = ""
    /// The last wait of a late push, or the reason of a push that did not arrive.
    public var why = ""

    public init() {}
}

/// An event of a notification.
public struct PushStep: Record, Equatable {
    public var at = Instant.epoch
    /// The event of another service that led to this one.
    public var cause: String?
    /// The earlier events that explain a wait or an end, such as the disconnection or the wakes that spent the budget.
    public var reasons: [PushStepReason] = []
    public var status = ""
    /// The end of a wait, as the push service expects it.
    public var until: Instant?

    public init() {}
}

/// An earlier event that explains an event of a notification.
public struct PushStepReason: Record, Equatable {
    public var at = Instant.epoch
    /// The type of the event, with the words of its data.
    public var event = ""
    public var reason = PushReasonKind.disconnection

    public init() {}
}
