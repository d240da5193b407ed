import Contracts
import FetchMachine
import Timeline

/// What became of a device.
struct HabitOutcome: Sendable {
    let device: HabitualDevice
    let calendar: HabitCalendar
    var apps: [AppOutcome]
    /// What the machine knows in the end.
    var state = FetchMachine()

    /// The life of one app.
    struct AppOutcome: Sendable, Equatable {
        let app: HabitualApp
        var openings: [Opening] = []
        var refreshes: [Refresh] = []
    }

    struct Opening: Sendable, Equatable {
        let at: Instant
        /// Nil before the first refresh with new data.
        let contentAge: Interval?
    }

    struct Refresh: Sendable, Equatable {
        /// When the app was woken.
        let begin: Instant
        let end: Instant
        let result: FetchResult
    }

    init(_ device: HabitualDevice, _ calendar: HabitCalendar) {
        self.device = device
        self.calendar = calendar
        apps = device.apps.map { AppOutcome(app: $0) }
    }

    var begin: Instant { calendar.moment(day: 0) }
    var end: Instant { calendar.moment(day: device.days) }

    /// The days that are told of: the last week, what was before was for learning.
    var toldDays: Int { min(7, device.days) }

    /// Of the days that are told of.
    func summary(_ app: AppOutcome) -> HabitSummary {
        summary(app, from: calendar.moment(day: device.days - toldDays), until: end, days: toldDays)
    }

    func summary(_ app: AppOutcome, from: Instant, until: Instant, days: Int) -> HabitSummary {
        var summary = HabitSummary(days: days)
        let openings = app.openings.filter { $0.at >= from && $0.at < until }
        let refreshes = app.refreshes.filter { $0.begin >= from && $0.begin < until }
        for opening in openings { summary.openingsByHour[calendar.hour(of: opening.at)] += 1 }
        for refresh in refreshes { summary.refreshesByHour[calendar.hour(of: refresh.begin)] += 1 }
        summary.newData = refreshes.count { $0.result == .newData }
        summary.prepared = openings.count { opening in
            app.refreshes.contains { $0.end <= opening.at && $0.begin >= opening.at - .hours(1) }
        }
        let ages = openings.compactMap(\.contentAge)
        if !ages.isEmpty { summary.contentAge = ages.reduce(.zero, +) / Int64(ages.count) }
        return summary
    }
}

/// Some days of an app in numbers.
struct HabitSummary: Sendable, Equatable {
    let days: Int
    /// By the hour of the day on the user's clock.
    var openingsByHour = Array(repeating: 0, count: 24)
    var refreshesByHour = Array(repeating: 0, count: 24)
    /// How many refreshes found new data.
    var newData = 0
    /// How many openings had a refresh within the hour before.
    var prepared = 0
    /// The mean at the openings with content; nil where there was none.
    var contentAge: Interval?

    init(days: Int) { self.days = days }

    var openings: Int { openingsByHour.reduce(0, +) }
    var refreshes: Int { refreshesByHour.reduce(0, +) }

    /// To one digit behind the point.
    func daily(_ count: Int) -> String {
        let tenths = (count * 20 + days) / (2 * days)
        return "\(tenths / 10).\(tenths % 10)"
    }

    var refreshesDaily: String { daily(refreshes) }
    var newDataShare: String { Self.share(newData, of: refreshes) }
    var preparedShare: String { Self.share(prepared, of: openings) }
    var contentAgeWords: String {
        contentAge.map { "\(($0.milliseconds + 30_000) / 60_000) min" } ?? "–"
    }

    private static func share(_ part: Int, of all: Int) -> String {
        all > 0 ? "\((part * 200 + all) / (2 * all)) %" : "–"
    }
}
