public import Records
public import Timeline

/// The energy and data that refreshes of an app or a device have spent since the beginning of a day.
public struct BudgetUsage: Record, Equatable {
    public var bytes = 0
    /// The beginning of the day in local time.
    public var day = Instant.epoch
    public var millijoules = 0

    mutating func charge(millijoules: Int, bytes: Int, day: Instant) {
        // Clock changes and travel move the beginning of a day a little without a new day.
        if day >= self.day + Self.shortestDay { self = BudgetUsage(day: day) }
        // A device can report any number. The limit prevents an overflow.
        self.millijoules = min(self.millijoules + min(max(0, millijoules), Self.most), Self.most)
        self.bytes = min(self.bytes + min(max(0, bytes), Self.most), Self.most)
    }

    private static let most = 1 << 60
    private static let shortestDay = Interval.hours(22)

    /// Returns the spending that counts at a time: nothing after the end of the day.
    public func asOf(_ moment: Instant) -> BudgetUsage { moment < day + .days(1) ? self : BudgetUsage() }
}

/// A daily budget. A quarter is available when the day begins, the rest evenly over 24 h.
public struct Budget: Sendable, Equatable {
    public var millijoules: Int
    public var bytes: Int

    /// Creates a budget.
    public init(millijoules: Int, bytes: Int) {
        self.millijoules = millijoules
        self.bytes = bytes
    }

    /// Returns the time at which the budget covers the spending; the epoch if it does from the beginning of the day.
    public func allows(_ budgetUsage: BudgetUsage) -> Instant {
        max(
            Self.moment(budgetUsage.day, spent: budgetUsage.millijoules, of: millijoules),
            Self.moment(budgetUsage.day, spent: budgetUsage.bytes, of: bytes))
    }

    /// Returns the part of a limit that is available at a time of the day.
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
    /// Returns the beginning of the local day of an instant.
    public func day(of moment: Instant, _ policy: FetchPolicy) -> Instant {
        func midnight(_ offset: Int) -> Instant {
            let day = Interval.days(1).milliseconds
            let local = moment.milliseconds + Int64(offset) * 1000
            return Instant(milliseconds: local - (local % day + day) % day - Int64(offset) * 1000)
        }
        guard let timeZone else { return midnight(0) }
        // The clock may have changed since midnight, so the offset at midnight counts.
        return midnight(policy.timeZoneOffset(timeZone, midnight(policy.timeZoneOffset(timeZone, moment))))
    }
}
