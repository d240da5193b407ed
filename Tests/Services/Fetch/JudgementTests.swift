import Contracts
import FetchMachine
import Lives
import Machines
import OrderedCollections
import Records
import TestSupport
import Testing
import Timeline

@Suite struct JudgementTests {
    @Test func usersWithDifferentHabitsGetDifferentMoments() throws {
        let early = try moment(openingAt: .hours(7))
        let late = try moment(openingAt: .hours(18))
        #expect(early < .monday + .days(7) + .hours(7))
        #expect(early > .monday + .days(7) + .hours(6))
        #expect(late < .monday + .days(7) + .hours(18))
        #expect(late > .monday + .days(7) + .hours(17))
    }

    @Test func devicesSpreadOverTheSlot() {
        let moments = (0..<200).map { number in
            wait(FetchPolicy.forTests, key: .device("d\(number)"))?.at ?? .epoch
        }
        let slot = FetchPolicy.forTests.slot.milliseconds
        #expect(moments.allSatisfy { $0.milliseconds % slot < FetchPolicy.forTests.jitter.milliseconds })
        #expect(Set(moments).count > 150)
    }

    @Test func appsThatAreDueInOneSlotShareItsMoment() {
        let first = wait(.forTests, set: .monday)?.at
        #expect(first == wait(.forTests, set: .monday + .seconds(Int64(7)))?.at)
    }

    @Test func theSkippedSlotsOfTheLastDayAreExplained() throws {
        var life = FetchLife(seededRandom(1))
        try life.begin()
        try life.runtime.submit(
            .setInterval(app: "a", .atLeast(.hours(2))), to: FetchLife.key, at: .monday + .seconds(Int64(1)))
        let now = Instant.monday + .hours(1)
        let forecast = try #require(life.device.forecast("a", FetchLife.key, now: now, policy: life.policy))
        #expect(forecast.skipped.count >= 3)
        #expect(forecast.skipped.allSatisfy { $0.factor == .rateLimit && $0.slot < now })
        #expect(forecast.usage == Array(repeating: 0, count: 168))
    }

    /// When a user who opened the app at a time of last Monday gets the next refresh, seen from two hours before that time.
    private func moment(openingAt time: Interval) throws -> Instant {
        var device = FetchMachine()
        device.apply(.deviceDescribed(.init(profile: .ios15, fleet: nil, timeZone: nil)), at: .monday)
        device.apply(.appChanged(.init(app: "a", declaresFetch: true)), at: .monday)
        let hour = Int(time.milliseconds / Interval.hours(1).milliseconds)
        device.apply(.appOpened(.init(app: "a", hourOfWeek: hour, contentAgeSeconds: nil)), at: .monday + time)
        device.apply(.appChanged(.init(app: "a", inForeground: false)), at: .monday + time)
        let now = Instant.monday + .days(7) + time - .hours(2)
        device.apply(.intervalSet(.init(app: "a", interval: .minimum)), at: now)
        let app = try #require(device.apps["a"])
        let judgement = Judgement(device: device, app: app, policy: .forTests)
        return try #require(judgement.wait(.device("d"), now: now)?.at)
    }

    private func wait(_ policy: FetchPolicy, key: AggregateKey = .device("d"), set: Instant = .monday) -> Wait? {
        var app = ScheduledApp()
        app.declaresFetch = true
        app.interval = .minimum
        app.intervalSetAt = set
        return Judgement(device: FetchMachine(), app: app, policy: policy).wait(key, now: set)
    }
}
