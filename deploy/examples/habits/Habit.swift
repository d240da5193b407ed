import Contracts
import Timeline

/// The times at which a user opens an app.
struct Habit: Sendable, Equatable {
    /// The times of weekdays, and of weekends unless ``weekends`` has its own.
    var times: [TimeOfDay]
    var weekends: [TimeOfDay]?
    /// The most by which an opening varies in both directions.
    var spread = Interval.minutes(10)
    /// The time that the app stays in the foreground.
    var stay = Interval.minutes(4)

    /// Returns the times of a day, which is counted from a Monday.
    func times(onDay day: Int) -> [TimeOfDay] { day % 7 < 5 ? times : weekends ?? times }

    /// A description such as `07:30, 18:00; weekends 10:00`.
    var words: String {
        let list = { (times: [TimeOfDay]) in times.sorted().map(\.description).joined(separator: ", ") }
        guard let weekends, weekends != times else { return list(times) }
        return list(times) + "; weekends " + list(weekends)
    }
}

/// The response of an app to every refresh.
struct HabitualAnswer: Sendable, Equatable {
    var result = WakeResult.newData
    /// The time that its handler runs. A handler is killed after 30 s.
    var elapsed = Interval.seconds(Int64(2))
    var bytes = 80_000

    static let limit = Interval.seconds(Int64(30))
    var isTooSlow: Bool { elapsed >= Self.limit }
}

/// An app with its use.
struct HabitualApp: Sendable, Equatable {
    var name: String
    var habit: Habit
    var interval = FetchInterval.minimum
    var answer = HabitualAnswer()
}

/// A device that is locked while it is not in use, and on its charger from 23:00 to 06:30.
struct HabitualDevice: Sendable, Equatable {
    /// The name of the device, which decides the times of its refreshes within their slots.
    var name: String
    /// A name of the IANA time zone database; nil means UTC.
    var timeZone: String?
    var apps: [HabitualApp]
    /// The days of virtual time, from a Monday 00:00.
    var days = 14
    /// The seed of the variation. The same seed gives the same openings.
    var seed: UInt64 = 1

    static let plugged = TimeOfDay(23, 0)
    static let unplugged = TimeOfDay(6, 30)
}

/// The local clock of the user during a simulation.
struct HabitCalendar: Sendable {
    /// Monday, 2026-01-05T00:00:00Z.
    private static let monday = Instant(milliseconds: 1_767_571_200_000)
    let zone: String?
    let offset: @Sendable (_ zone: String, _ moment: Instant) -> Int

    /// Returns the instant of a local time on a day that is counted from the Monday.
    func moment(day: Int, _ time: Interval = .zero) -> Instant {
        let local = Self.monday + .days(Int64(day)) + time
        // The offset of the first guess finds the offset of the result, except close to a change of clocks.
        return local - east(local - east(local))
    }

    func hour(of moment: Instant) -> Int {
        Int((moment + east(moment)).milliseconds / Interval.hours(1).milliseconds % 24)
    }

    private func east(_ moment: Instant) -> Interval { .seconds(Int64(zone.map { offset($0, moment) } ?? 0)) }
}
