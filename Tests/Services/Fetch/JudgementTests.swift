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
