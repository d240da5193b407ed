public import Records
import Timeline

/// When the user opens an app: a histogram by hour of week that forgets a quarter every week.
public struct UsageProfile: Record, Equatable {
    /// One weight an hour, from Monday 00:00 in the device's time zone; empty before the first opening.
    public private(set) var hours: [Int] = []
    /// The week of the last opening, counted from 1970.
    private var week = 0

    /// What one opening adds.
    static let opening = 1024
    static let hoursOfWeek = 168

    public init() {}

    public mutating func visit<V: FieldVisitor>(_ fields: inout V) {
        fields.field("hours", &hours)
        fields.field("week", &week)
    }

    public var isLearned: Bool { !hours.isEmpty }

    /// Learns that the user opened the app.
    mutating func learn(hour: Int, at time: Instant) {
        if hours.isEmpty { hours = Array(repeating: 0, count: Self.hoursOfWeek) }
        let now = Int(time.milliseconds / Interval.days(7).milliseconds)
        // After 32 weeks of three quarters nothing of a weight is left that matters.
        for _ in 0..<min(32, max(0, now - week)) where week > 0 { hours = hours.map { $0 * 3 / 4 } }
        week = max(week, now)
        guard hours.indices.contains(hour) else { return }
        hours[hour] += Self.opening
    }

    /// The weight of the likeliest hour; 0 before the first opening.
    var peak: Int { hours.max() ?? 0 }

    /// The hour of the week, from Monday 00:00, that a moment falls into.
    static func hourOfWeek(_ moment: Instant, offset seconds: Int) -> Int {
        let local = moment + .seconds(Int64(seconds))
        // 1970-01-01 was a Thursday, three days into its week.
        let hours = local.milliseconds / Interval.hours(1).milliseconds + 72
        return Int(hours % Int64(hoursOfWeek))
    }
}
