import Contracts
import DequeModule
import Machines
import Records
import Synchronization

/// The cached aggregates of one partition, in the order of their last use. A batch works on copies, which are cheap, and
/// stores the changed ones after its commit.
final class StateCache<M: Machine>: Evictable {
    private struct Entry {
        var cost: Int
        /// The number of the batch that used it last, counted over the whole process.
        var used: Int
    }

    private struct State {
        var aggregates: [AggregateKey: Aggregate<M>] = [:]
        var entries: [AggregateKey: Entry] = [:]
        /// Each use of an aggregate, oldest first. Only the last use of an aggregate counts.
        var uses: Deque<(key: AggregateKey, used: Int)> = []
        var cost = 0

        /// - Parameter size: the size of the stored form, in bytes; nil if it is unchanged.
        mutating func use(_ key: AggregateKey, _ size: Int?, _ now: Int) {
            let known = entries[key]?.cost
            let cost = size.map(StateBudget.cost) ?? known ?? StateBudget.cost(ofStored: 0)
            self.cost += cost - (known ?? 0)
            entries[key] = Entry(cost: cost, used: now)
            uses.append((key, now))
        }

        mutating func skipFormerUses() {
            while let first = uses.first, entries[first.key]?.used != first.used { uses.removeFirst() }
        }

        /// Removes superseded uses, so that there are never more than twice as many uses as aggregates.
        mutating func forgetFormerUses() {
            guard uses.count > 2 * entries.count + 64 else { return }
            uses = Deque(uses.filter { entries[$0.key]?.used == $0.used })
        }
    }

    private let state = Mutex(State())
    private let budget: StateBudget

    init(_ budget: StateBudget) {
        self.budget = budget
        budget.add(self)
    }

    /// Returns the keys that are not cached.
    func missing(_ keys: [AggregateKey]) -> Set<AggregateKey> {
        state.withLock { state in Set(keys.filter { state.aggregates[$0] == nil }) }
    }

    /// Returns the cached aggregates with these keys.
    func values(of keys: some Collection<AggregateKey>) -> [AggregateKey: Aggregate<M>] {
        state.withLock { state in
            var values: [AggregateKey: Aggregate<M>] = [:]
            values.reserveCapacity(keys.count)
            for key in keys { values[key] = state.aggregates[key] }
            return values
        }
    }

    /// Removes everything.
    func drop() {
        let (dropped, cost) = state.withLock { state in
            let former = state
            state = State()
            // Frees them outside of the lock.
            return (former.aggregates, former.cost)
        }
        _ = dropped
        budget.spend(-cost)
    }

    /// Stores the aggregates of a batch.
    ///
    /// - Parameter sizes: the sizes of the stored forms that the batch read or changed, in bytes.
    func store(_ aggregates: [AggregateKey: Aggregate<M>], sizes: [AggregateKey: Int]) {
        let now = budget.nextUse()
        let change = state.withLock { state in
            let before = state.cost
            for (key, aggregate) in aggregates {
                state.aggregates[key] = aggregate
                state.use(key, sizes[key], now)
            }
            state.forgetFormerUses()
            return state.cost - before
        }
        budget.spend(change)
    }

    /// The oldest use; nil if nothing can be evicted.
    var oldestUse: Int? {
        state.withLock { state -> Int? in
            state.skipFormerUses()
            return state.uses.first?.used
        }
    }

    func evict(_ cost: Int, usedUpTo last: Int) -> Int {
        let (evicted, freed) = state.withLock { state -> ([Aggregate<M>], Int) in
            var evicted: [Aggregate<M>] = []
            let before = state.cost
            state.skipFormerUses()
            while let use = state.uses.first, use.used <= last, before - state.cost < cost {
                if let aggregate = state.aggregates.removeValue(forKey: use.key) { evicted.append(aggregate) }
                state.cost -= state.entries.removeValue(forKey: use.key)?.cost ?? 0
                state.uses.removeFirst()
                state.skipFormerUses()
            }
            // Frees them outside of the lock.
            return (evicted, before - state.cost)
        }
        _ = evicted
        budget.spend(-freed)
        return freed
    }

    /// The number of cached aggregates.
    var count: Int { state.withLock { $0.entries.count } }
}
