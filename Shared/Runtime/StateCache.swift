import Contracts
import DequeModule
import Machines
import Records
import Synchronization

/// The aggregates of one partition that stay in memory, in the order of their last use.
///
/// A batch takes all of them out, changes them in place and gives them back; meanwhile nothing is evicted here.
final class StateCache<M: Machine>: Evictable {
    private struct Entry {
        var cost: Int
        /// The batch that used it last, of all batches of the process.
        var used: Int
    }

    private struct State {
        var aggregates: [AggregateKey: Aggregate<M>] = [:]
        var entries: [AggregateKey: Entry] = [:]
        /// Each use of an aggregate, oldest first. A use that is not the last one counts for nothing.
        var uses: Deque<(key: AggregateKey, used: Int)> = []
        var isLent = false
        var cost = 0

        mutating func use(_ key: AggregateKey, _ size: Int, _ now: Int) {
            let cost = StateBudget.cost(ofStored: size)
            self.cost += cost - (entries[key]?.cost ?? 0)
            entries[key] = Entry(cost: cost, used: now)
            uses.append((key, now))
        }

        mutating func skipFormerUses() {
            while let first = uses.first, entries[first.key]?.used != first.used { uses.removeFirst() }
        }

        /// So that the uses take no more room than twice the aggregates.
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

    /// Those of some keys that are not here.
    func missing(_ keys: [AggregateKey]) -> Set<AggregateKey> {
        state.withLock { state in Set(keys.filter { state.aggregates[$0] == nil }) }
    }

    /// Moves all aggregates out, until they are given back or dropped.
    func lend() -> [AggregateKey: Aggregate<M>] {
        state.withLock { state in
            state.isLent = true
            var lent: [AggregateKey: Aggregate<M>] = [:]
            swap(&lent, &state.aggregates)
            return lent
        }
    }

    /// Forgets everything.
    func drop() {
        let (dropped, cost) = state.withLock { state in
            let former = state
            state = State()
            // Freed outside of the lock.
            return (former.aggregates, former.cost)
        }
        _ = dropped
        budget.spend(-cost)
    }

    /// Takes the aggregates back.
    ///
    /// - Parameter sizes: of the stored forms of those that were read or changed, in bytes.
    func giveBack(_ aggregates: [AggregateKey: Aggregate<M>], sizes: [AggregateKey: Int]) {
        let now = budget.nextUse()
        let change = state.withLock { state in
            let before = state.cost
            state.aggregates = aggregates
            state.isLent = false
            for (key, size) in sizes where aggregates[key] != nil { state.use(key, size, now) }
            if state.entries.count != aggregates.count {
                // Seldom: a batch that was given up has read some of them.
                for (key, aggregate) in aggregates where state.entries[key] == nil {
                    state.use(key, aggregate.state.binary.count, now)
                }
            }
            state.forgetFormerUses()
            return state.cost - before
        }
        budget.spend(change)
    }

    /// The use of what was used the longest ago; nil where nothing can be evicted.
    var oldestUse: Int? {
        state.withLock { state -> Int? in
            guard !state.isLent else { return nil }
            state.skipFormerUses()
            return state.uses.first?.used
        }
    }

    func evict(_ cost: Int, usedUpTo last: Int) -> Int {
        let (evicted, freed) = state.withLock { state -> ([Aggregate<M>], Int) in
            var evicted: [Aggregate<M>] = []
            let before = state.cost
            guard !state.isLent else { return ([], 0) }
            state.skipFormerUses()
            while let use = state.uses.first, use.used <= last, before - state.cost < cost {
                if let aggregate = state.aggregates.removeValue(forKey: use.key) { evicted.append(aggregate) }
                state.cost -= state.entries.removeValue(forKey: use.key)?.cost ?? 0
                state.uses.removeFirst()
                state.skipFormerUses()
            }
            // Freed outside of the lock.
            return (evicted, before - state.cost)
        }
        _ = evicted
        budget.spend(-freed)
        return freed
    }

    /// How many aggregates are here.
    var count: Int { state.withLock { $0.entries.count } }
}
