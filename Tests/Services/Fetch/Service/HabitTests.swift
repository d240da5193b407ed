import Contracts
import FetchCore
import OrderedCollections
import Records
import ServiceKit
import TestSupport
import Testing
import Timeline

@testable import FetchService
@testable import habits

/// Simulated weeks of users with habits. The simulation is deterministic: exact numbers were measured, and another number
/// means that the rules have changed.
@Suite(.ownThread) struct HabitTests {
    @Test func `users with different habits get different refreshes`() throws {
        let morning = TimeOfDay(6, 45)
        let evening = TimeOfDay(18, 0)
        let early = try HabitSimulation.run(device(opening: [morning]))
        let late = try HabitSimulation.run(device(opening: [evening]))
        // Measured: on 7 of 7 days each. In the hour before 06:45 18 refreshes against 1, before 18:00 8 against 6.
        #expect(early.days(withRefreshBefore: morning) >= 5)
        #expect(late.days(withRefreshBefore: evening) >= 5)
        #expect(early.refreshes(before: morning) >= 2 * late.refreshes(before: morning))
        #expect(late.refreshes(before: evening) > early.refreshes(before: evening))
        let own = early.refreshes(before: morning) + late.refreshes(before: evening)
        let other = late.refreshes(before: morning) + early.refreshes(before: evening)
        #expect(own >= 3 * other)
    }

    /// "si un utilisateur vérifie une application chaque matin, et un autre vérifie toutes les heures, iOS garantira le
    /// contenu est mis à jour pour les deux utilisateurs chaque fois qu’ils ouvrent l’application" (the source document
    /// about updates in the background).
    @Test func `users who open an app every morning and every hour find fresh content`() throws {
        let morning = try HabitSimulation.run(device(opening: [TimeOfDay(6, 45)]))
        let ages = morning.ageOfContent
        #expect(ages.count == 7)
        // Measured: 8 to 22 min.
        #expect(ages.allSatisfy { $0 <= .hours(1) })
        let hourly = try HabitSimulation.run(device(opening: (7..<23).map { TimeOfDay($0, 0) }))
        let many = hourly.ageOfContent
        #expect(many.count == 7 * 16)
        // Measured: 99 of 112, and 250 min at most.
        #expect(many.count { $0 <= .hours(1) } >= 95)
    }

    @Test func `slow apps and apps without new data get fewer refreshes`() throws {
        let good = try refreshes(.init())
        let slow = try refreshes(.init(elapsed: .seconds(Int64(25))))
        let idle = try refreshes(.init(result: .noData))
        #expect(good == 97)
        // Less than a third of the app with new data in 2 s.
        #expect(slow == 30)
        // A sixth of it.
        #expect(idle == 16)
    }

    @Test func `the same seed gives the same simulation`() throws {
        var device = device(opening: [TimeOfDay(6, 45), TimeOfDay(20, 10)], days: 5)
        let first = try HabitSimulation.run(device)
        let again = try HabitSimulation.run(device)
        #expect(HabitPlot([first]).svg == HabitPlot([again]).svg)
        #expect(first.apps == again.apps)
        #expect(first.state.binary == again.state.binary)
        device.seed = 2
        #expect(try HabitSimulation.run(device).apps[0].openings != first.apps[0].openings)
    }

    @Test func `the state of a device stays small`() throws {
        var random = HabitRandom(seed: 1, stream: 0)
        let apps = (0..<20).map { index in
            let time = TimeOfDay(7 + random.number(below: 16), random.number(below: 60))
            let weekends = index % 3 == 0 ? [TimeOfDay(10 + index % 12, 0)] : nil
            return HabitualApp(name: "com.example.app\(index)", habit: Habit(times: [time], weekends: weekends))
        }
        // Long slots make a month fast. The size of the state depends on openings and not on slots.
        var policy = FetchPolicy.habitual
        policy.slot = .hours(12)
        let state = try HabitSimulation.run(HabitualDevice(name: "crowded", apps: apps, days: 30), policy: policy).state
        #expect(state.apps.count == 20)
        #expect(state.apps.values.allSatisfy { $0.usage.isLearned && $0.reliability.refreshes > 0 })
        // Measured: 2,687. With slots of 15 min and up to four openings a day of each app: 3,164.
        #expect(state.binary.count < 8192)
    }

    @Test func `a handler that reaches its limit is killed`() throws {
        var device = device(opening: [TimeOfDay(12, 0)], days: 2)
        device.apps[0].answer.elapsed = .seconds(Int64(30))
        let refreshes = try HabitSimulation.run(device).apps[0].refreshes
        #expect(!refreshes.isEmpty)
        #expect(refreshes.allSatisfy { $0.result == .timedOut && $0.end - $0.begin == .seconds(Int64(30)) })
    }

    @Test func `an interval is a minimum`() throws {
        var device = device(opening: [TimeOfDay(12, 0)], days: 7)
        device.apps[0].interval = .atLeast(.hours(6))
        let refreshes = try HabitSimulation.run(device).apps[0].refreshes
        #expect(refreshes.count > 7)
        #expect(zip(refreshes, refreshes.dropFirst()).allSatisfy { $1.begin - $0.end >= .hours(6) })
    }

    @Test func `every opening has the age of its content`() throws {
        let app = try HabitSimulation.run(device(opening: [TimeOfDay(12, 0)], days: 3)).apps[0]
        #expect(app.openings.count == 3)
        for opening in app.openings {
            let last = app.refreshes.last { $0.end <= opening.at && $0.result == .newData }
            #expect(opening.contentAge == last.map { opening.at - $0.end })
        }
    }

    @Test func `one app is in the foreground at a time`() throws {
        var device = device(opening: [TimeOfDay(12, 0), TimeOfDay(12, 1)], days: 7)
        device.apps.append(HabitualApp(name: "other", habit: Habit(times: [TimeOfDay(12, 2)])))
        let outcome = try HabitSimulation.run(device)
        let openings = outcome.apps.flatMap(\.openings).map(\.at).sorted()
        #expect(openings.count == 21)
        #expect(zip(openings, openings.dropFirst()).allSatisfy { $1 - $0 >= .minutes(4) })
    }

    @Test func `habits follow the local clock`() throws {
        var device = device(opening: [TimeOfDay(6, 45)], weekends: [TimeOfDay(10, 30)], days: 7)
        device.timeZone = "Asia/Tokyo"
        let outcome = try HabitSimulation.run(device)
        let hours = outcome.summary(outcome.apps[0]).openingsByHour
        #expect(hours[6] == 5 && hours[10] == 2)
        // 06:45 in Tokyo is 21:45 UTC of the day before.
        #expect(outcome.apps[0].openings[0].at.description.contains("T21:"))
    }

    @Test func `local times are correct on the day of a change of clocks`() {
        let zones = TimeZones()
        let calendar = HabitCalendar(zone: "Europe/Berlin") { zones.offset($0, at: $1) }
        // On Sunday, 2026-03-29, the clocks change from 02:00 to 03:00.
        #expect(calendar.moment(day: 83, .hours(1)).description == "2026-03-29T00:00:00.000Z")
        #expect(calendar.moment(day: 83, .hours(12)).description == "2026-03-29T10:00:00.000Z")
        #expect(calendar.hour(of: calendar.moment(day: 83, .hours(12))) == 12)
    }

    private func device(opening times: [TimeOfDay], weekends: [TimeOfDay]? = nil, days: Int = 14) -> HabitualDevice {
        let app = HabitualApp(name: "app", habit: Habit(times: times, weekends: weekends))
        return HabitualDevice(name: "phone", apps: [app], days: days)
    }

    /// Returns the refreshes in the last of two weeks.
    private func refreshes(_ answer: HabitualAnswer) throws -> Int {
        var device = device(opening: [TimeOfDay(6, 45), TimeOfDay(18, 0)])
        device.apps[0].answer = answer
        let outcome = try HabitSimulation.run(device)
        return outcome.summary(outcome.apps[0]).refreshes
    }
}

extension HabitOutcome {
    /// The age of the content at each opening of the last week. An opening without content counts as a week.
    fileprivate var ageOfContent: [Interval] {
        apps[0].openings.filter { $0.at >= calendar.moment(day: device.days - toldDays) }
            .map { $0.contentAge ?? .hours(24 * 7) }
    }

    /// Returns the number of refreshes of the last week within the hour before a time of day.
    fileprivate func refreshes(before time: TimeOfDay) -> Int { counts(before: time).reduce(0, +) }

    /// Returns the number of days of the last week with a refresh within the hour before a time of day.
    fileprivate func days(withRefreshBefore time: TimeOfDay) -> Int { counts(before: time).count { $0 > 0 } }

    private func counts(before time: TimeOfDay) -> [Int] {
        (device.days - 7..<device.days).map { day in
            let moment = calendar.moment(day: day, .minutes(Int64(time.minutes)))
            return apps[0].refreshes.count { $0.begin >= moment - .hours(1) && $0.begin < moment }
        }
    }
}

extension HabitRandom {
    fileprivate mutating func number(below limit: Int) -> Int { Int.random(in: 0..<limit, using: &self) }
}
