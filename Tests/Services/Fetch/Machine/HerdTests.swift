import Contracts
import FetchCore
import RandomScenarios
import Machines
import OrderedCollections
import Records
import MachineTesting
import Testing
import Timeline

/// Many devices that aim at the same time.
@Suite(.ownThread) struct HerdTests {
    /// 100,000 apps whose users open them at 08:00, with a limit of 50 wakes per second. Their wakes take 2,000 s.
    @Test func `wakes of many devices spread over the time before the opening`() async throws {
        let count = 100_000
        let ceiling = 50
        let day = Instant.monday + .days(7)
        let opening = day + .hours(8)
        var fleet = AppFleet(ceiling: ceiling, partitions: 16)
        // Each user opened the app last Monday at 08:00, and the app wants refreshes from 06:00 on.
        let wakes = try fleet.begin(count, openedAt: opening - .days(7), since: opening - .hours(2))
        var seconds: [Int64: Int] = [:]
        for wake in wakes { seconds[wake.at.milliseconds / 1000, default: 0] += 1 }
        #expect(wakes.count == count)
        #expect(seconds.values.max() == ceiling, "the limit is reached but not exceeded")
        let slots = wakes.map(\.at.milliseconds).sorted()
        for (index, moment) in slots.enumerated() where index + ceiling < slots.count {
            try #require(slots[index + ceiling] >= moment + 1000, "the limit applies to any second")
        }
        #expect(wakes.allSatisfy { $0.at < opening }, "all apps have new content at 08:00")
        // All aims are within five minutes, but the wakes need 2,000 s.
        let aims = wakes.map { $0.aim ?? $0.at }
        #expect(try #require(aims.max()) - #require(aims.min()) < .minutes(5))
        let first = Instant(milliseconds: try #require(slots.first))
        let last = Instant(milliseconds: try #require(slots.last))
        #expect(last - first >= .seconds(Int64(count / ceiling - 310)))
        #expect(last - first < .seconds(Int64(count / ceiling + 310)))
        // Each forecast has the reserved time and comes true.
        var moved = 0
        for number in stride(from: 0, to: count, by: 1000) {
            let held = wakes[number]
            let forecast = try #require(fleet.forecast(number, now: opening - .hours(2)))
            let next = try #require(forecast.next)
            #expect(next.at == held.at)
            let herd = next.factors.first { $0.factor == .herd }?.result
            if next.aim == next.at {
                #expect(herd == .score(1000))
            } else {
                moved += 1
                guard case .score(let score) = herd else { throw ExpectationFailed() }
                #expect(score < 1000)
            }
            #expect(try fleet.firstDue(number, until: opening) == held.at)
        }
        #expect(moved > 50)
    }

    private struct ExpectationFailed: Error {}
}

/// Devices with one app each that share a limit of wakes.
struct AppFleet {
    private var aggregates: [Aggregate<FetchMachine>] = []
    private var slots: [SlotAllocator]
    private let policy: FetchPolicy

    init(ceiling: Int, partitions: Int) {
        var policy = FetchPolicy.forTests
        policy.ceiling = ceiling
        self.policy = policy
        slots = (0..<partitions).map { SlotAllocator(ceiling: ceiling, partition: $0, partitions: partitions) }
    }

    /// Creates devices and returns the reserved time of each.
    mutating func begin(_ count: Int, openedAt: Instant, since: Instant) throws -> [ReservedSlot] {
        // All devices have the same history, which is computed once.
        var model = InMemoryRuntime<FetchMachine>(policy: policy)
        let key = AggregateKey.device("model")
        try model.begin(key, apps: ["a"])
        try model.open("a", key, at: openedAt, for: .minutes(4))
        let state = model.state(key)
        for number in 0..<count {
            let key = AggregateKey.device("d\(number)")
            var aggregate = Aggregate(key: key, state: state, now: openedAt + .minutes(4), eventCount: 4)
            let origin = Origin(id: DecisionIdentifiers.derived("crowd", String(number)))
            _ = try aggregate.decide(
                .command(.setInterval(app: "a", .minimum)), origin, at: since, policy: policy,
                slots: &slots[key.partition(of: slots.count)])
            aggregates.append(aggregate)
        }
        return try aggregates.map { try #require(ReservedSlot($0.state.apps["a"]?.wait)) }
    }

    func forecast(_ number: Int, now: Instant) -> Forecast? {
        aggregates[number].state.forecast("a", aggregates[number].key, now: now, policy: policy)
    }

    /// Returns the time of a device's first refresh if nothing changes.
    func firstDue(_ number: Int, until end: Instant) throws -> Instant? {
        var aggregate = aggregates[number]
        var slots = slots[aggregate.key.partition(of: slots.count)]
        let events = try aggregate.fireDeadlines(until: end, policy: policy, slots: &slots)
        return events.first { $0.type == FetchEvent.RefreshDue.type }?.time
    }
}

/// A reserved time.
struct ReservedSlot {
    let at: Instant
    let aim: Instant?

    init?(_ wait: Wait?) {
        guard let wait, let at = wait.at else { return nil }
        self.at = at
        aim = wait.aim
    }
}
