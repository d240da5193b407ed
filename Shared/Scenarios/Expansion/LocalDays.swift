import Timeline

/// The days of a scenario in a time zone. Day 0 is the date on which the scenario starts.
struct LocalDays: Sendable {
    let start: ScenarioDate
    let offsets: ZoneOffsets

    init(_ zone: ZoneName, start: ScenarioDate, duration: Interval) {
        self.start = start
        let first = Instant.epoch + .days(Int64(start.daysSinceEpoch))
        offsets = ZoneOffsets(zone, (first - .days(6))...(first + duration + .days(6)))
    }

    /// Returns the instant of a time of a day.
    func instant(_ sinceMidnight: Interval, on day: Int) -> Instant {
        offsets.instant(ofLocal: .days(Int64(start.daysSinceEpoch + day)) + sinceMidnight)
    }

    /// Returns the first instant of a day.
    func begin(of day: Int) -> Instant { instant(.zero, on: day) }

    /// Returns the weekday: 0 for Monday to 6 for Sunday.
    func weekday(of day: Int) -> Int {
        // 1970-01-01 was a Thursday.
        let days = (start.daysSinceEpoch + day + 3) % 7
        return days < 0 ? days + 7 : days
    }

    func include(_ days: Days, _ day: Int) -> Bool { days.include(day: day, weekday: weekday(of: day)) }

    /// Returns the days that overlap a range of time.
    func days(overlapping range: Range<Instant>) -> ClosedRange<Int> {
        var first = 0
        while begin(of: first) > range.lowerBound { first -= 1 }
        while begin(of: first + 1) <= range.lowerBound { first += 1 }
        var last = first
        while begin(of: last + 1) < range.upperBound { last += 1 }
        return first...last
    }
}
