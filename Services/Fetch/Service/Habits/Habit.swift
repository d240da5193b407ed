import Contracts
import Timeline

/// When a user opens an app.
struct Habit: Sendable, Equatable {
    /// On weekdays, and on weekends too unless ``weekends`` says otherwise.
    var times: [TimeOfDay]
    var weekends: [TimeOfDay]?
    /// Each opening comes up to so much earlier or later.
    var spread = Interval.minutes(10)
    /// How long the app stays on screen.
    var stay = Interval.minutes(4)

    /// - Parameter day: counted from a Monday.
    func times(onDay day: Int) -> [TimeOfDay] { day % 7 < 5 ? times : weekends ?? times }

    /// Such as `07:30, 18:00; weekends 10:00`.
    var words: String {
        let list = { (times: [TimeOfDay]) in times.sorted().map(\.description).joined(separator: ", ") }
        guard let weekends, weekends != times else { return list(times) }
        return list(times) + "; weekends " + list(weekends)
    }
}

/// How an app answers a refresh, always the same.
struct HabitualAnswer: Sendable, Equatable {
    var result = WakeResult.newData
    /// What its handler takes. One that takes 30 s or more is killed at 30 s.
    var elapsed = Interval.seconds(Int64(2))
    var bytes = 80_000

    static let limit = Interval.seconds(Int64(30))
    var isTooSlow: Bool { elapsed >= Self.limit }
}

/// An app, and how it is used.
struct HabitualApp: Sendable, Equatable {
    var name: String
    var habit: Habit
    var interval = FetchInterval.minimum
    var answer = HabitualAnswer()
}

/// A device that lies locked while it is not in use, and on its charger from 23:00 to 06:30.
struct HabitualDevice: Sendable, Equatable {
    /// The places of its refreshes in their slots depend on it.
    var name: String
    /// A name of the IANA time zone database; nil stands for UTC.
    var timeZone: String?
    var apps: [HabitualApp]
    /// Of virtual time, from a Monday 00:00 on.
    var days = 14
    /// The same seed varies the openings in the same way.
    var seed: UInt64 = 1

    static let plugged = TimeOfDay(23, 0)
    static let unplugged = TimeOfDay(6, 30)
}

/// The user's clock during a simulation.
struct HabitCalendar: Sendable {
    /// Monday, 2026-01-05T00:00:00Z.
    private static let monday = Instant(milliseconds: 1_767_571_200_000)
    let zone: String?
    let offset: @Sendable (_ zone: String, _ moment: Instant) -> Int

    /// A moment, by the clock of a day that is counted from the Monday.
    func moment(day: Int, _ time: Interval = .zero) -> Instant {
        let local = Self.monday + .days(Int64(day)) + time
        // The offset is that of the moment itself, which an offset that is hours off finds but on the day of a change.
        return local - east(local - east(local))
    }

    func hour(of moment: Instant) -> Int {
        Int((moment + east(moment)).milliseconds / Interval.hours(1).milliseconds % 24)
    }

    private func east(_ moment: Instant) -> Interval { .seconds(Int64(zone.map { offset($0, moment) } ?? 0)) }
}
