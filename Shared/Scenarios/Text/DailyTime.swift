import Records
import Timeline

/// A time on some days: `07:30`, `mon-fri 07:30±20m`, `day 3 12:00`. See ``Days`` and ``SpreadTime``.
public struct DailyTime: TextValue {
    public let days: Days
    public let time: SpreadTime

    public init(_ time: SpreadTime, on days: Days = .every) {
        self.days = days
        self.time = time
    }

    public static let form = "a time such as 07:30, mon-fri 07:30±20m or day 3 12:00"
    public static var pattern: String { Days.pattern + SpreadTime.pattern }
    public static var placeholder: DailyTime { DailyTime(.placeholder) }

    public init?(_ text: String) {
        guard let time = TextScanner.whole(text, Self.scan) else { return nil }
        self = time
    }

    static func scan(_ scanner: inout TextScanner) -> DailyTime? {
        let days = Days.scan(&scanner)
        guard let time = SpreadTime.scan(&scanner), time.middle.sinceMidnight < .hours(24) else { return nil }
        return DailyTime(time, on: days)
    }

    public var description: String { "\(days.prefix)\(time)" }
}

/// A part of some days: `23:00-06:30` (over midnight), `mon-fri 09:00±10m-17:00`, `from 16:00`, `until 08:00`, `always`.
///
/// The days are those on which the period begins.
public struct DailyPeriod: TextValue {
    public let days: Days
    public let begin: SpreadTime
    /// The end. It is on the next day if its middle is not after the middle of the beginning.
    public let end: SpreadTime

    public init(_ begin: SpreadTime, _ end: SpreadTime, on days: Days = .every) {
        self.days = days
        self.begin = begin
        self.end = end
    }

    /// Whether the period ends on the day after its beginning.
    public var endsNextDay: Bool { end.middle.sinceMidnight <= begin.middle.sinceMidnight }

    public static let form =
        "a part of the day such as 23:00-06:30, mon-fri 09:00-17:00, from 16:00, until 08:00 or always"
    public static var pattern: String {
        "\(Days.pattern)(?:always|from \(SpreadTime.pattern)|until \(SpreadTime.pattern)"
            + "|\(SpreadTime.pattern)-\(SpreadTime.pattern))"
    }
    public static var placeholder: DailyPeriod { DailyPeriod(midnight, nextMidnight) }

    private static let midnight = SpreadTime(ClockTime(.zero))
    private static let nextMidnight = SpreadTime(ClockTime(.hours(24)))

    public init?(_ text: String) {
        guard let period = TextScanner.whole(text, Self.scan) else { return nil }
        self = period
    }

    static func scan(_ scanner: inout TextScanner) -> DailyPeriod? {
        let days = Days.scan(&scanner)
        if scanner.take("always") { return DailyPeriod(midnight, nextMidnight, on: days) }
        if scanner.take("until ") {
            guard let end = SpreadTime.scan(&scanner), end.middle.sinceMidnight > .zero else { return nil }
            return DailyPeriod(midnight, end, on: days)
        }
        let isOpen = scanner.take("from ")
        guard let begin = SpreadTime.scan(&scanner), begin.middle.sinceMidnight < .hours(24) else { return nil }
        if isOpen { return DailyPeriod(begin, nextMidnight, on: days) }
        guard scanner.take("-"), let end = SpreadTime.scan(&scanner),
            end.middle.sinceMidnight != begin.middle.sinceMidnight
        else { return nil }
        return DailyPeriod(begin, end, on: days)
    }

    public var description: String {
        switch (begin, end) {
        case (Self.midnight, Self.nextMidnight): "\(days.prefix)always"
        case (_, Self.nextMidnight): "\(days.prefix)from \(begin)"
        case (Self.midnight, _): "\(days.prefix)until \(end)"
        default: "\(days.prefix)\(begin)-\(end)"
        }
    }
}
