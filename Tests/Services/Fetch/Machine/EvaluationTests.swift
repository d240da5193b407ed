import Contracts
@testable import FetchCore
import RandomScenarios
import Machines
import OrderedCollections
import Records
import MachineTesting
import Testing
import Timeline

@Suite struct EvaluationTests {
    @Test func `users with different habits get refreshes at different times`() throws {
        let early = try moment(openingAt: .hours(7))
        let late = try moment(openingAt: .hours(18))
        #expect(early < .monday + .days(7) + .hours(7))
        #expect(early > .monday + .days(7) + .hours(6))
        #expect(late < .monday + .days(7) + .hours(18))
        #expect(late > .monday + .days(7) + .hours(17))
    }

    @Test func `an app that is opened thousands of times within an hour can be scheduled`() {
        var app = ScheduledApp()
        let moment = Instant.monday + .hours(9)
        for number in 1...20_000 {
            app.usage.learn(hour: 9, at: moment)
            guard number.isMultiple(of: 100) else { continue }
            let evaluation = Evaluation(device: FetchMachine(), app: app, policy: .forTests)
            let usage = evaluation.usage(at: moment)
            #expect(usage > 900, "after \(number) openings")
        }
    }

    @Test func `devices spread over the slot`() throws {
        let slots = try (0..<200).map { try moment(of: .device("d\($0)"), ceiling: nil) }
        let slot = FetchPolicy.forTests.slot.milliseconds
        #expect(slots.allSatisfy { $0.milliseconds % slot < FetchPolicy.forTests.jitter.milliseconds })
        #expect(Set(slots).count > 150)
    }

    @Test func `the skipped slots of the last day are explained`() throws {
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

    @Test func `a change of clocks does not begin another day of the budgets`() {
        // The night of a change of clocks: one hour east of UTC, and two hours from 01:00 UTC of the Monday.
        let policy = FetchPolicy { _, moment in moment < .monday + .hours(1) ? 3600 : 7200 }
        var device = FetchMachine()
        device.apply(.deviceUpdated(.init(fleet: nil, profile: .ios15, timeZone: "Test/Changing")), at: .monday)
        let early = device.day(of: .monday + .minutes(30), policy)
        #expect(early == .monday - .hours(1))
        #expect(device.day(of: .monday + .hours(10), policy) == early, "the day began before the change")
        #expect(device.day(of: .monday + .hours(23), policy) == .monday + .hours(22))
        var budgetUsage = BudgetUsage()
        budgetUsage.charge(millijoules: 5, bytes: 7, day: early)
        budgetUsage.charge(millijoules: 5, bytes: 7, day: early + .hours(1))
        #expect(budgetUsage.millijoules == 10, "travel does not begin another day")
        budgetUsage.charge(millijoules: 5, bytes: 7, day: early + .hours(23))
        #expect(budgetUsage.millijoules == 5 && budgetUsage.bytes == 7)
    }

    @Test func `every skipped slot has one reason`() throws {
        var runtime = InMemoryRuntime<FetchMachine>(policy: .forTests)
        let key = AggregateKey.device("d")
        try runtime.begin(key, apps: ["a", "b"])
        try runtime.submit(.setInterval(app: "a", .atLeast(.hours(2))), to: key, at: .monday)
        var saving = Conditions()
        saving.lowPowerMode = true
        try runtime.tell(LifecycleEvent.ConditionsChanged(conditions: saving), of: key, at: .monday + .hours(3))
        saving.lowPowerMode = false
        try runtime.tell(LifecycleEvent.ConditionsChanged(conditions: saving), of: key, at: .monday + .hours(5))
        // Without answers, the following refreshes are refused.
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

    @Test func `each part of a wait has its own reason`() throws {
        var device = FetchMachine()
        device.apply(.deviceUpdated(.init(fleet: nil, profile: .ios15, timeZone: nil)), at: .monday)
        device.apply(.appUpdated(.init(app: "a", declaresFetch: true)), at: .monday)
        var wait = Wait()
        wait.earliest = .monday + .hours(1)
        wait.fundedAt = .monday + .hours(2)
        wait.aim = .monday + .hours(3)
        wait.at = .monday + .hours(4)
        func factors(_ wait: Wait) throws -> [FetchFactor] {
            let forecast = device.forecast(
                "a", .device("d"), now: .monday + .hours(5), policy: .forTests,
                waits: [PastWait(from: .monday, wait: wait)])
            return try #require(forecast).skipped.map(\.factor)
        }
        let slots = 4
        func each(_ factors: FetchFactor...) -> [FetchFactor] { factors.flatMap { Array(repeating: $0, count: slots) } }
        #expect(try factors(wait) == each(.rateLimit, .budgets, .deviceActivity, .rateLimit))
        wait.ceiling = 1
        #expect(try factors(wait) == each(.rateLimit, .budgets, .deviceActivity, .herd))
        device.apply(.appOpened(.init(app: "a", contentAgeSeconds: nil, hourOfWeek: 0)), at: .monday)
        #expect(try factors(wait) == each(.rateLimit, .budgets, .usage, .herd))
        wait.at = nil
        wait.aim = nil
        wait.blockers = [.network, .battery]
        #expect(try factors(wait) == Array(repeating: .network, count: 5 * slots))
    }

    @Test func `apps that a push would serve better get advice`() throws {
        var device = FetchMachine()
        device.apply(.deviceUpdated(.init(fleet: nil, profile: .ios15, timeZone: nil)), at: .monday)
        device.apply(.appUpdated(.init(app: "a", declaresFetch: true)), at: .monday)
        device.apply(.intervalSet(.init(app: "a", interval: .atLeast(.hours(1)))), at: .monday)
        func advice() throws -> [Forecast.Advice] {
            try #require(device.forecast("a", .device("d"), now: .monday, policy: .forTests)).advice
        }
        var record = FetchEvent.RefreshRecorded.placeholder
        record.app = "a"
        record.elapsedSeconds = .seconds(Int64(2))
        for number in 1...12 {
            #expect(try advice().isEmpty == (number <= 8), "after \(number - 1) refreshes without new data")
            record.result = .noData
            device.apply(.refreshRecorded(record), at: .monday)
        }
        #expect(try advice() == [.sporadicContent])
        for _ in 0..<12 {
            record.result = .newData
            device.apply(.refreshRecorded(record), at: .monday)
        }
        #expect(try advice() == [])
        func open(_ age: Interval) {
            device.apply(.appOpened(.init(app: "a", contentAgeSeconds: age, hourOfWeek: 0)), at: .monday)
        }
        for _ in 0..<6 { open(.hours(2)) }
        #expect(try advice() == [], "twice the interval is normal")
        for _ in 0..<6 { open(.hours(3)) }
        #expect(try advice() == [.criticalContent])
    }

    /// Returns the reserved time of an app with the interval `minimum`.
    private func moment(of key: AggregateKey, ceiling: Int?) throws -> Instant {
        var policy = FetchPolicy.forTests
        policy.ceiling = ceiling
        var runtime = InMemoryRuntime<FetchMachine>(policy: policy)
        try runtime.begin(key, apps: ["a"])
        try runtime.submit(.setInterval(app: "a", .minimum), to: key, at: .monday)
        return try #require(runtime.state(key).apps["a"]?.wait?.at)
    }

    /// Returns the reserved time for a user who opened the app at this time last Monday, as of two hours before it.
    private func moment(openingAt time: Interval) throws -> Instant {
        let key = AggregateKey.device("d")
        var runtime = InMemoryRuntime<FetchMachine>(policy: .forTests)
        try runtime.begin(key, apps: ["a"])
        try runtime.open("a", key, at: .monday + time, for: .minutes(1))
        try runtime.submit(.setInterval(app: "a", .minimum), to: key, at: .monday + .days(7) + time - .hours(2))
        return try #require(runtime.state(key).apps["a"]?.wait?.at)
    }
}
