import Contracts
import FetchCore
import Timeline

/// The outcome of a simulation.
struct HabitOutcome: Sendable {
    let device: HabitualDevice
    let calendar: HabitCalendar
    var apps: [AppOutcome]
    /// The final state of the machine.
    var state = FetchMachine()

    /// The openings and refreshes of one app.
    struct AppOutcome: Sendable, Equatable {
        let app: HabitualApp
        var openings: [Opening] = []
        var refreshes: [Refresh] = []
    }

    struct Opening: Sendable, Equatable {
        let at: Instant
        /// The age of the content; nil before the first refresh with new data.
        let contentAge: Interval?
    }

    struct Refresh: Sendable, Equatable {
        /// The time of the wake.
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

    /// The number of days in the summary: the last week. The machine learns on the days before.
    var toldDays: Int { min(7, device.days) }

    /// Returns the summary of the last ``toldDays`` days.
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

/// A summary of some days of an app.
struct HabitSummary: Sendable, Equatable {
    let days: Int
    /// The numbers by hour of the day in local time.
    var openingsByHour = Array(repeating: 0, count: 24)
    var refreshesByHour = Array(repeating: 0, count: 24)
    /// The number of refreshes with new data.
    var newData = 0
    /// The number of openings with a refresh within the hour before.
    var prepared = 0
    /// The mean content age at openings; nil if there was no content.
    var contentAge: Interval?

    var openings: Int { openingsByHour.reduce(0, +) }
    var refreshes: Int { refreshesByHour.reduce(0, +) }

    /// Returns the number per day with one decimal.
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
