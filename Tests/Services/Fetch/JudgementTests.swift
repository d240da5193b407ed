import Contracts
@testable import FetchMachine
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

    @Test func devicesSpreadOverTheSlot() throws {
        let moments = try (0..<200).map { try moment(of: .device("d\($0)"), ceiling: nil) }
        let slot = FetchPolicy.forTests.slot.milliseconds
        #expect(moments.allSatisfy { $0.milliseconds % slot < FetchPolicy.forTests.jitter.milliseconds })
        #expect(Set(moments).count > 150)
    }

    @Test func theSkippedSlotsOfTheLastDayAreExplained() throws {
        var life = FetchLife(seededRandom(1))
        try life.begin()
        try life.runtime.submit(
            .setInterval(app: "a", .atLeast(.hours(2))), to: FetchLife.key, at: .monday + .seconds(Int64(1)))
        let now = Instant.monday + .hours(1)
        let forecast = try #require(
            life.device.forecast("a", FetchLife.key, now: now, policy: life.policy, waits: life.waits(of: "a")))
        #expect(forecast.skipped.count >= 3)
        #expect(forecast.skipped.allSatisfy { $0.factor == .rateLimit && $0.slot < now })
        #expect(forecast.usage == Array(repeating: 0, count: 168))
    }

    @Test func aDayOfTheBudgetsIsOneDayWhereTheClocksAreChanged() {
        // Two hours east of UTC from 01:00 UTC of the Monday on, one hour before: the night of a change of clocks.
        let policy = FetchPolicy { _, moment in moment < .monday + .hours(1) ? 3600 : 7200 }
        var device = FetchMachine()
        device.apply(.deviceDescribed(.init(profile: .ios15, fleet: nil, timeZone: "Test/Changing")), at: .monday)
        let early = device.day(of: .monday + .minutes(30), policy)
        #expect(early == .monday - .hours(1))
        #expect(device.day(of: .monday + .hours(10), policy) == early, "the day began before the change")
        #expect(device.day(of: .monday + .hours(23), policy) == .monday + .hours(22))
        var spending = Spending()
        spending.charge(millijoules: 5, bytes: 7, day: early)
        spending.charge(millijoules: 5, bytes: 7, day: early + .hours(1))
        #expect(spending.millijoules == 10, "who travels has no second day")
        spending.charge(millijoules: 5, bytes: 7, day: early + .hours(23))
        #expect(spending.millijoules == 5 && spending.bytes == 7)
    }

    @Test func everySkippedSlotHasItsReason() throws {
        var runtime = InMemoryRuntime<FetchMachine>(policy: .forTests)
        let key = AggregateKey.device("d")
        try runtime.begin(key, apps: ["a", "b"])
        try runtime.submit(.setInterval(app: "a", .atLeast(.hours(2))), to: key, at: .monday)
        var saving = Conditions()
        saving.lowPowerMode = true
        try runtime.tell(LifecycleEvent.ConditionsChanged(conditions: saving), of: key, at: .monday + .hours(3))
        saving.lowPowerMode = false
        try runtime.tell(LifecycleEvent.ConditionsChanged(conditions: saving), of: key, at: .monday + .hours(5))
        // Unanswered refreshes follow, each refused.
        let now = Instant.monday + .hours(20)
        try runtime.advance(to: now)
        let forecast = try #require(
            runtime.state(key).forecast(
                "a", key, now: now, policy: .forTests, waits: try runtime.waits(of: "a", key)))
        let grid = SlotGrid(key: key, policy: .forTests)
        let dues = runtime.log.filter { $0.type == FetchEvent.RefreshDue.type && $0.app == "a" }.map(\.time)
        let ends = runtime.log.filter { $0.type == FetchEvent.RefreshRecorded.type && $0.app == "a" }.map(\.time)
        var skipped = forecast.skipped[...]
        var reasons: Set<FetchFactor> = []
        for index in grid.index(of: .monday)...grid.index(of: now) {
            let slot = grid.moment(index)
            let isRunning = zip(dues, ends + [now]).contains { $0 <= slot && slot < $1 }
            guard slot >= .monday, slot < now, !isRunning else { continue }
            let first = skipped.popFirst()
            let skip = try #require(first, "slot \(slot)")
            #expect(skip.slot == slot)
            reasons.insert(skip.factor)
        }
        #expect(skipped.isEmpty)
        #expect(reasons.isSuperset(of: [.rateLimit, .lowPowerMode]))
    }

    /// When a device's app is refreshed that wants it as often as possible.
    private func moment(of key: AggregateKey, ceiling: Int?) throws -> Instant {
        var policy = FetchPolicy.forTests
        policy.ceiling = ceiling
        var runtime = InMemoryRuntime<FetchMachine>(policy: policy)
        try runtime.begin(key, apps: ["a"])
        try runtime.submit(.setInterval(app: "a", .minimum), to: key, at: .monday)
        return try #require(runtime.state(key).apps["a"]?.wait?.at)
    }

    /// When a user who opened the app at a time of last Monday gets the next refresh, seen from two hours before that time.
    private func moment(openingAt time: Interval) throws -> Instant {
        let key = AggregateKey.device("d")
        var runtime = InMemoryRuntime<FetchMachine>(policy: .forTests)
        try runtime.begin(key, apps: ["a"])
        try runtime.open("a", key, at: .monday + time, for: .minutes(1))
        try runtime.submit(.setInterval(app: "a", .minimum), to: key, at: .monday + .days(7) + time - .hours(2))
        return try #require(runtime.state(key).apps["a"]?.wait?.at)
    }
}
