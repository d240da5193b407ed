import Records
public import Timeline

/// A duration such as `500ms`, `90s`, `10m`, `1h30m` or `7d`: whole numbers with units from the largest to the smallest.
/// From 0 to 366 days.
public struct TimeSpan: TextValue {
    public let interval: Interval

    /// Creates a duration, held to the range.
    public init(_ interval: Interval) { self.interval = min(max(interval, .zero), Self.longest) }

    /// The longest duration: 366 days.
    public static let longest = Interval.days(366)
    public static let form = "a duration such as 90s, 10m, 1h30m or 7d, at most 366d"
    public static let pattern =
        "(?=[0-9])(?:[0-9]{1,9}d)?(?:[0-9]{1,9}h)?(?:[0-9]{1,9}m(?!s))?(?:[0-9]{1,9}s)?(?:[0-9]{1,9}ms)?"
    public static var placeholder: TimeSpan { TimeSpan(.zero) }

    private static let units: [(String, Int64)] = [
        ("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1000), ("ms", 1),
    ]

    public init?(_ text: String) {
        guard let span = TextScanner.whole(text, Self.scan) else { return nil }
        self = span
    }

    static func scan(_ scanner: inout TextScanner) -> TimeSpan? {
        var milliseconds: Int64 = 0
        var parts = 0
        for (unit, length) in units {
            let count: Int? = scanner.attempt { scanner in
                guard let count = scanner.number(), scanner.take(unit) else { return nil }
                return unit == "m" && scanner.rest.first == "s" ? nil : count
            }
            guard let count else { continue }
            milliseconds += Int64(count) * length
            parts += 1
        }
        guard parts > 0, milliseconds <= longest.milliseconds else { return nil }
        return TimeSpan(.milliseconds(milliseconds))
    }

    public var description: String {
        var rest = interval.milliseconds
        var text = ""
        for (unit, length) in Self.units where rest >= length {
            text += "\(rest / length)\(unit)"
            rest %= length
        }
        return text.isEmpty ? "0s" : text
    }
}

/// A duration that differs each time: `4s`, or `4s±2s` for 2 to 6 seconds, uniformly distributed. `+-` is the same as `±`.
public struct SpreadSpan: TextValue {
    public let middle: TimeSpan
    /// The largest difference from the middle, at most the middle.
    public let spread: TimeSpan

    /// Creates a duration; the spread is held to the middle.
    public init(_ middle: Interval, spread: Interval = .zero) {
        self.middle = TimeSpan(middle)
        self.spread = TimeSpan(min(spread, self.middle.interval))
    }

    /// A duration in whole seconds.
    public static func seconds(_ middle: Int, spread: Int = 0) -> SpreadSpan {
        SpreadSpan(.seconds(Int64(middle)), spread: .seconds(Int64(spread)))
    }

    /// A duration in whole minutes.
    public static func minutes(_ middle: Int, spread: Int = 0) -> SpreadSpan {
        SpreadSpan(.minutes(Int64(middle)), spread: .minutes(Int64(spread)))
    }

    public static let form = "a duration such as 4s or 4s±2s, with a spread up to the duration"
    public static var pattern: String { "\(TimeSpan.pattern)(?:(?:±|\\+-)\(TimeSpan.pattern))?" }
    public static var placeholder: SpreadSpan { SpreadSpan(.zero) }

    public init?(_ text: String) {
        guard let span = TextScanner.whole(text, Self.scan) else { return nil }
        self = span
    }

    static func scan(_ scanner: inout TextScanner) -> SpreadSpan? {
        guard let middle = TimeSpan.scan(&scanner), let spread = scanSpread(&scanner),
            spread.interval <= middle.interval
        else { return nil }
        return SpreadSpan(middle.interval, spread: spread.interval)
    }

    /// Takes `±SPAN` or nothing; nil if the text after the sign is not a duration.
    static func scanSpread(_ scanner: inout TextScanner) -> TimeSpan? {
        // Not `.placeholder`, which would be that of the optional.
        guard scanner.take("±") || scanner.take("+-") else { return TimeSpan(.zero) }
        return TimeSpan.scan(&scanner)
    }

    public var description: String { "\(middle)" + (spread.interval == .zero ? "" : "±\(spread)") }
}
