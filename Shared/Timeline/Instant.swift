public import Records

/// A point in time: milliseconds since 1970-01-01T00:00:00Z. JSON: RFC 3339 in UTC with milliseconds.
///
/// Times in the log, in stored states and from servers may have any value. So arithmetic saturates and never traps.
public struct Instant: Sendable, Hashable, Comparable {
    public var milliseconds: Int64

    public init(milliseconds: Int64) { self.milliseconds = milliseconds }

    public static func < (left: Instant, right: Instant) -> Bool { left.milliseconds < right.milliseconds }
    /// The sum. It ends at the last instant that documents may contain, so that a deadline can always be logged.
    public static func + (instant: Instant, interval: Interval) -> Instant {
        let sum = Instant(milliseconds: instant.milliseconds.saturating(plus: interval.milliseconds))
        return min(sum, max(instant, documented.upperBound))
    }
    public static func - (instant: Instant, interval: Interval) -> Instant {
        Instant(milliseconds: instant.milliseconds.saturating(minus: interval.milliseconds))
    }
    public static func - (left: Instant, right: Instant) -> Interval {
        Interval(milliseconds: left.milliseconds.saturating(minus: right.milliseconds))
    }

    /// 1970-01-01T00:00:00Z.
    public static let epoch = Instant(milliseconds: 0)

    /// The instants that documents may contain: years 1970 to 9999.
    public static let documented = epoch...Instant(milliseconds: 253_402_300_799_999)

    /// The instant, clamped to ``documented``.
    public var heldToDocuments: Instant {
        min(max(self, Self.documented.lowerBound), Self.documented.upperBound)
    }
}

/// A duration in milliseconds. JSON: a number of seconds.
public struct Interval: Sendable, Hashable, Comparable {
    public var milliseconds: Int64

    public init(milliseconds: Int64) { self.milliseconds = milliseconds }

    public static func milliseconds(_ count: Int64) -> Interval { Interval(milliseconds: count) }
    public static func seconds(_ count: Int64) -> Interval { Interval(milliseconds: 1000) * count }
    @_disfavoredOverload
    public static func seconds(_ count: Double) -> Interval {
        Interval(milliseconds: Int64(saturating: (count * 1000).rounded()))
    }
    public static func minutes(_ count: Int64) -> Interval { Interval(milliseconds: 60_000) * count }
    public static func hours(_ count: Int64) -> Interval { Interval(milliseconds: 3_600_000) * count }
    public static func days(_ count: Int64) -> Interval { Interval(milliseconds: 86_400_000) * count }
    public static let zero = Interval(milliseconds: 0)

    public var seconds: Double { Double(milliseconds) / 1000 }

    public static func < (left: Interval, right: Interval) -> Bool { left.milliseconds < right.milliseconds }
    public static func + (left: Interval, right: Interval) -> Interval {
        Interval(milliseconds: left.milliseconds.saturating(plus: right.milliseconds))
    }
    public static func - (left: Interval, right: Interval) -> Interval {
        Interval(milliseconds: left.milliseconds.saturating(minus: right.milliseconds))
    }
    public static func * (interval: Interval, factor: Int64) -> Interval {
        Interval(milliseconds: interval.milliseconds.saturating(times: factor))
    }
    public static func / (interval: Interval, divisor: Int64) -> Interval {
        Interval(milliseconds: interval.milliseconds / divisor)
    }
}

extension Int64 {
    /// Creates the nearest integer, saturating; 0 for NaN.
    init(saturating number: Double) {
        self = number.isNaN ? 0 : Int64(exactly: number.rounded()) ?? (number < 0 ? .min : .max)
    }

    func saturating(plus other: Int64) -> Int64 {
        let (sum, overflow) = addingReportingOverflow(other)
        return overflow ? (other < 0 ? .min : .max) : sum
    }

    func saturating(minus other: Int64) -> Int64 {
        let (difference, overflow) = subtractingReportingOverflow(other)
        return overflow ? (other < 0 ? .max : .min) : difference
    }

    func saturating(times factor: Int64) -> Int64 {
        let (product, overflow) = multipliedReportingOverflow(by: factor)
        return overflow ? ((self < 0) == (factor < 0) ? .max : .min) : product
    }
}

extension Instant: Value {
    public static var placeholder: Instant { .epoch }
    public static var schema: JSON { ["type": "string", "format": "date-time"] }
    public func write(to binary: inout BinaryWriter) { Int(milliseconds).write(to: &binary) }
    public static func read(from binary: inout BinaryReader) -> Instant {
        Instant(milliseconds: Int64(Int.read(from: &binary)))
    }
    public func write(to json: inout JSONWriter) { json.write(description) }
    public static func read(_ json: JSON, _ reader: inout JSONReader) -> Instant? {
        guard let text = json.string, let instant = Instant(text) else {
            reader.fault("must be a date and time by RFC 3339, for example \"2026-11-21T07:40:00.000Z\"")
            return nil
        }
        return instant
    }
}

extension Interval: Value {
    public static var placeholder: Interval { .zero }
    public static var schema: JSON { ["type": "number"] }
    public func write(to binary: inout BinaryWriter) { Int(milliseconds).write(to: &binary) }
    public static func read(from binary: inout BinaryReader) -> Interval {
        Interval(milliseconds: Int64(Int.read(from: &binary)))
    }
    public func write(to json: inout JSONWriter) { json.write(seconds) }
    public static func read(_ json: JSON, _ reader: inout JSONReader) -> Interval? {
        guard let seconds = json.double, abs(seconds) <= 1e11 else {
            reader.fault("must be a number of seconds")
            return nil
        }
        return .seconds(seconds)
    }
}
