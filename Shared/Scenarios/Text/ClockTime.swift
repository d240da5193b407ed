import Records
public import Timeline

/// A time of the local day such as `07:30` or `07:30:15`, from `00:00` to `24:00`.
public struct ClockTime: TextValue {
    /// The time since local midnight.
    public let sinceMidnight: Interval

    /// Creates a time, held to the day.
    public init(_ sinceMidnight: Interval) { self.sinceMidnight = min(max(sinceMidnight, .zero), .hours(24)) }

    /// Midnight at the end of the day.
    public static let endOfDay = ClockTime(.hours(24))

    public static let form = "a time of the day such as 07:30"
    public static let pattern = "(?:[01][0-9]|2[0-3]):[0-5][0-9](?::[0-5][0-9])?|24:00"
    public static var placeholder: ClockTime { ClockTime(.zero) }

    public init?(_ text: String) {
        guard let time = TextScanner.whole(text, Self.scan) else { return nil }
        self = time
    }

    static func scan(_ scanner: inout TextScanner) -> ClockTime? {
        guard let hour = scanner.number(digits: 2...2), scanner.take(":"), let minute = scanner.number(digits: 2...2)
        else { return nil }
        var second = 0
        if scanner.take(":") {
            guard let number = scanner.number(digits: 2...2) else { return nil }
            second = number
        }
        let time = Interval.seconds(Int64(hour * 3600 + minute * 60 + second))
        guard minute < 60, second < 60, time <= .hours(24) else { return nil }
        return ClockTime(time)
    }

    public var description: String {
        let seconds = sinceMidnight.milliseconds / 1000
        let parts = [seconds / 3600, seconds / 60 % 60] + (seconds % 60 == 0 ? [] : [seconds % 60])
        return parts.map { ($0 < 10 ? "0" : "") + String($0) }.joined(separator: ":")
    }
}

/// A time of the local day that differs on each day: `07:30`, or `07:30±20m` for 07:10 to 07:50, uniformly distributed.
public struct SpreadTime: TextValue {
    public let middle: ClockTime
    /// The largest difference from the middle, at most 12 hours. A drawn time stays within the day.
    public let spread: TimeSpan

    public init(_ middle: ClockTime, spread: Interval = .zero) {
        self.middle = middle
        self.spread = TimeSpan(min(spread, .hours(12)))
    }

    public static let form = "a time of the day such as 07:30 or 07:30±20m"
    public static var pattern: String { "(?:\(ClockTime.pattern))(?:(?:±|\\+-)\(TimeSpan.pattern))?" }
    public static var placeholder: SpreadTime { SpreadTime(.placeholder) }

    public init?(_ text: String) {
        guard let time = TextScanner.whole(text, Self.scan) else { return nil }
        self = time
    }

    static func scan(_ scanner: inout TextScanner) -> SpreadTime? {
        guard let middle = ClockTime.scan(&scanner), let spread = SpreadSpan.scanSpread(&scanner),
            spread.interval <= .hours(12)
        else { return nil }
        return SpreadTime(middle, spread: spread.interval)
    }

    public var description: String { "\(middle)" + (spread.interval == .zero ? "" : "±\(spread)") }
}
