import Contracts
import Foundation
import Machines
import Postgres
import TestSupport
import Testing
import Timeline

@testable import Runtime

@Suite(.tags(.database)) struct StateCacheTests {
    @Test func `the least recently used aggregate is evicted first across partitions`() {
        // Room for six of a hundred bytes.
        let budget = StateBudget(6 * StateBudget.cost(ofStored: 100))
        let (one, two) = (StateCache<Counter>(budget), StateCache<Counter>(budget))
        one.use("a")
        two.use("b")
        one.use("c")
        one.use("d")
        two.use("e", "f")
        one.use("a")
        budget.trim()
        #expect(budget.cost == 6 * StateBudget.cost(ofStored: 100), "it fits")
        two.use("g")
        budget.trim()
        // Evictions free a sixteenth more than needed: one more aggregate here.
        #expect(two.missing(keys("b", "e", "f", "g")) == Set(keys("b")))
        #expect(one.missing(keys("a", "c", "d")) == Set(keys("c")))
        #expect(budget.cost == 5 * StateBudget.cost(ofStored: 100) && one.count + two.count == 5)
    }

    @Test func `an aggregate counts with its new size after each batch`() {
        let budget = StateBudget(2 * StateBudget.cost(ofStored: 100))
        let (one, two) = (StateCache<Counter>(budget), StateCache<Counter>(budget))
        one.use("a", "b")
        one.use(["a"], size: 1000)
        #expect(budget.cost == StateBudget.cost(ofStored: 100) + StateBudget.cost(ofStored: 1000))
        one.store([.device("a"): Aggregate(key: .device("a"))], sizes: [:])
        #expect(budget.cost == StateBudget.cost(ofStored: 100) + StateBudget.cost(ofStored: 1000), "it is unchanged")
        #expect(Set(one.values(of: keys("a", "b", "c")).keys) == Set(keys("a", "b")))
        budget.trim()
        #expect(one.count == 0 && budget.cost == 0, "the largest aggregate exceeds the whole budget")
        two.use("c")
        two.drop()
        #expect(budget.cost == 0)
    }

    @Test func `memory for states stays within the budget while devices come and go`() async throws {
        let fixture = try await RuntimeFixture()
        let limit = 40 * StateBudget.cost(ofStored: 5)
        try await fixture.running(cacheBytes: limit) { runtime in
            for round in 1...2 {
                for device in 0..<100 {
                    let answer = try await runtime.submit(.add(1, to: "d\(device)"))
                    #expect(String(decoding: answer.body, as: UTF8.self) == "\(round)")
                    // A batch evicts after its answers.
                    try await eventually(describe: "the memory is within its limit") { runtime.cachedBytes <= limit }
                }
            }
            #expect(runtime.cachedBytes > limit / 2, "only the least recently used ones were evicted")
        }
        await fixture.pool.close()
    }

    /// Uses aggregates at random, like batches, evictions and failures.
    @Test(arguments: 0..<20) func `the counted memory is exact after random use`(seed: UInt64) {
        var random = SplitMix64(seed: seed)
        let budget = StateBudget(50 * StateBudget.cost(ofStored: 50))
        let caches = (0..<3).map { _ in StateCache<Counter>(budget) }
        for _ in 0..<400 {
            let cache = caches[Int.random(in: 0..<3, using: &random)]
            switch Int.random(in: 0..<20, using: &random) {
            case 0: cache.drop()
            case 1: budget.trim()
            default:
                let names = (0..<Int.random(in: 1...5, using: &random)).map { _ in
                    "d\(Int.random(in: 0..<60, using: &random))"
                }
                cache.use(names, size: Int.random(in: 0...100, using: &random))
            }
        }
        budget.trim()
        #expect(budget.cost <= budget.limit)
        for cache in caches { cache.drop() }
        #expect(budget.cost == 0)
    }

    private func keys(_ names: String...) -> [AggregateKey] { names.map { .device($0) } }
}

extension StateCache where M == Counter {
    fileprivate func use(_ names: String...) { use(names, size: 100) }

    /// Uses aggregates like a batch.
    fileprivate func use(_ names: [String], size: Int) {
        var aggregates: [AggregateKey: Aggregate<Counter>] = [:]
        var sizes: [AggregateKey: Int] = [:]
        for name in names {
            aggregates[.device(name)] = Aggregate(key: .device(name))
            sizes[.device(name)] = size
        }
        store(aggregates, sizes: sizes)
    }
}
