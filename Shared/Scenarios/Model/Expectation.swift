public import Records

/// A condition on the outcome of a scenario. It decides the exit status of a runner.
///
/// A share (`atLeast: 95%`) is the number of cases that hold, relative to all cases. A number (`atMost: 3`) counts
/// cases. A percentile (`p90: 45m`) is an upper limit of a duration.
public struct Expectation: Record, Equatable {
    /// The measured quantity.
    public enum Measure: String, WireEnum {
        /// Alerts that are shown, or handed to `willPresent`.
        case alertsShown = "alerts shown"
        /// Silent pushes whose handler starts.
        case silentPushesHandled = "silent pushes handled"
        /// Pushes of all kinds that arrive.
        case pushesArrived = "pushes arrived"
        /// Pushes that arrive after ``Scenario/lateAfter``.
        case pushesLate = "pushes late"
        /// Pushes that never arrive.
        case pushesNeverArrived = "pushes never arrived"
        /// The time from the last new data of the app to an opening.
        case contentAgeAtOpening = "content age at opening"
        /// Background refreshes that complete.
        case refreshes
        /// Wakes of all kinds.
        case wakes
        /// Wakes that were refused.
        case wakesRefused = "wakes refused"
        /// Apps that the system killed.
        case kills
        /// Transfers that complete.
        case transfersCompleted = "transfers completed"

        /// Whether a case has a duration, to which percentiles refer.
        public var hasDuration: Bool {
            switch self {
            case .pushesNeverArrived, .wakes, .wakesRefused, .kills: false
            case .alertsShown, .silentPushesHandled, .pushesArrived, .pushesLate, .contentAgeAtOpening, .refreshes,
                .transfersCompleted:
                true
            }
        }

        /// Whether the cases are pushes.
        public var isOfPushes: Bool {
            switch self {
            case .alertsShown, .silentPushesHandled, .pushesArrived, .pushesLate, .pushesNeverArrived: true
            case .contentAgeAtOpening, .refreshes, .wakes, .wakesRefused, .kills, .transfersCompleted: false
            }
        }
    }

    /// All cases that a share of pushes refers to.
    public enum Base: String, WireEnum {
        /// Pushes that the provider sent.
        case sent
        /// Pushes that the suite delivered to a device.
        case delivered
    }

    /// The app; all apps if missing.
    public var app: String?
    /// A lower limit: a share, or a number of cases.
    public var atLeast: Limit?
    /// An upper limit: a share, or a number of cases.
    public var atMost: Limit?
    public var of: Defaulted<Expectation.Base> = .sent
    public var p50: TimeSpan?
    public var p90: TimeSpan?
    public var p95: TimeSpan?
    public var p99: TimeSpan?
    public var what: Expectation.Measure
    /// Only cases within this time after the sending or the start count.
    public var within: TimeSpan?

    /// The percentiles with their limits.
    public var percentiles: [(percent: Int, limit: TimeSpan)] {
        [(50, p50), (90, p90), (95, p95), (99, p99)].compactMap { percent, limit in limit.map { (percent, $0) } }
    }
}

/// A limit of an expectation: a share (`95%`) or a number of cases (`3`).
public enum Limit: Value, Hashable {
    case share(Percent)
    case count(Int)

    public static var placeholder: Limit { .count(0) }
    public static var schema: JSON {
        [
            "anyOf": [
                ["type": "integer", "minimum": 0],
                ["type": "string", "pattern": .string("^\(Percent.pattern)$")],
            ], "description": "a share such as 95%, or a number of cases",
        ]
    }

    public func write(to binary: inout BinaryWriter) {
        switch self {
        case .share(let share):
            binary.append(0)
            share.write(to: &binary)
        case .count(let count):
            binary.append(1)
            count.write(to: &binary)
        }
    }

    public static func read(from binary: inout BinaryReader) -> Limit {
        binary.byte() == 0 ? .share(Percent.read(from: &binary)) : .count(Int.read(from: &binary))
    }

    public func write(to json: inout JSONWriter) {
        switch self {
        case .share(let share): share.write(to: &json)
        case .count(let count): json.write(count)
        }
    }

    public static func read(_ json: JSON, _ reader: inout JSONReader) -> Limit? {
        if let text = json.string, let share = Percent(text) { return .share(share) }
        if let number = json.int, number >= 0 { return .count(number) }
        reader.fault("must be a share such as 95%, or a number of cases")
        return nil
    }
}
