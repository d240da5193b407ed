public import Records
public import Timeline

/// What refreshes have spent since the beginning of a day, of an app or of its device.
public struct Spending: Record, Equatable {
    /// When the day began, where the device is.
    public var day = Instant.epoch
    public var millijoules = 0
    public var bytes = 0

    public init() {}

    public mutating func visit<V: FieldVisitor>(_ fields: inout V) {
        fields.field("bytes", &bytes)
        fields.field("day", &day)
        fields.field("millijoules", &millijoules)
    }

    mutating func charge(millijoules: Int, bytes: Int, day: Instant) {
        // Days are not all 24 h long, and devices travel: what begins a little earlier or later is the same day.
        if day >= self.day + Self.shortestDay {
            self = Spending()
            self.day = day
        }
        // What a device tells may be any number: past this it makes no difference.
        self.millijoules = min(self.millijoules + min(max(0, millijoules), Self.most), Self.most)
        self.bytes = min(self.bytes + min(max(0, bytes), Self.most), Self.most)
    }

    private static let most = 1 << 60
    private static let shortestDay = Interval.hours(22)

    /// What counts at a moment: nothing once the day is over.
    public func asOf(_ moment: Instant) -> Spending { moment < day + .days(1) ? self : Spending() }
}

/// What refreshes can spend in a day. A quarter of it is there from the beginning, the rest comes evenly over 24 h.
public struct Budget: Sendable, Equatable {
    public var millijoules: Int
    public var bytes: Int

    public init(millijoules: Int, bytes: Int) {
        self.millijoules = millijoules
        self.bytes = bytes
    }

    /// When what is spent is no more than what is there; the epoch where it is so from the beginning of the day.
    public func allows(_ spending: Spending) -> Instant {
        max(
            Self.moment(spending.day, spent: spending.millijoules, of: millijoules),
            Self.moment(spending.day, spent: spending.bytes, of: bytes))
    }

    /// What of a limit is there at a moment of a day.
    public static func available(_ limit: Int, _ day: Instant, at moment: Instant) -> Int {
        let passed = min(max(0, (moment - day).milliseconds), Interval.days(1).milliseconds)
        return limit / 4 + Int(Double(limit - limit / 4) * Double(passed) / Double(Interval.days(1).milliseconds))
    }

    private static func moment(_ day: Instant, spent: Int, of limit: Int) -> Instant {
        let more = spent - limit / 4
        guard more > 0 else { return .epoch }
        let rest = max(1, limit - limit / 4)
        guard more < rest else { return day + .days(1) }
        return day
            + .milliseconds(Int64((Double(more) * Double(Interval.days(1).milliseconds) / Double(rest)).rounded(.up)))
    }
}

extension FetchMachine {
    /// The beginning of the day that a moment lies in, where the device is.
    public func day(of moment: Instant, _ policy: FetchPolicy) -> Instant {
        func midnight(_ offset: Int) -> Instant {
            let day = Interval.days(1).milliseconds
            let local = moment.milliseconds + Int64(offset) * 1000
            return Instant(milliseconds: local - (local % day + day) % day - Int64(offset) * 1000)
        }
        guard let timeZone else { return midnight(0) }
        // Clocks may have been changed since: what they showed at midnight is what counts.
        return midnight(policy.timeZoneOffset(timeZone, midnight(policy.timeZoneOffset(timeZone, moment))))
    }
}
