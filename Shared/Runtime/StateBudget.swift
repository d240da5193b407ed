import Synchronization

/// What holds aggregates that can go.
protocol Evictable: AnyObject, Sendable {
    /// The use of what was used the longest ago; nil where nothing can be evicted.
    var oldestUse: Int? { get }
    /// Evicts what was used the longest ago, and not after a use.
    ///
    /// - Returns: what that cost.
    func evict(_ cost: Int, usedUpTo last: Int) -> Int
}

/// How much memory the aggregates of a process may take, over all its partitions. Those that were not used for the longest time
/// go first, whichever partition they are of.
final class StateBudget: Sendable {
    /// In bytes of memory.
    let limit: Int
    private let spent = Atomic(0)
    private let uses = Atomic(0)
    private let caches = Mutex<[any Evictable]>([])

    init(_ limit: Int) { self.limit = limit }

    /// What an aggregate takes in memory, about: the stored form is compact, and a record in memory is not.
    static func cost(ofStored bytes: Int) -> Int { 512 + 6 * bytes }

    var cost: Int { spent.load(ordering: .relaxed) }

    func add(_ cache: some Evictable) { caches.withLock { $0.append(cache) } }
    func nextUse() -> Int { uses.add(1, ordering: .relaxed).newValue }
    func spend(_ cost: Int) { spent.add(cost, ordering: .relaxed) }

    /// Evicts, where more is spent than the limit, a little more than that: so it is seldom done.
    func trim() {
        guard cost > limit else { return }
        // Who comes second leaves it to the first.
        caches.withLockIfAvailable { caches in
            let goal = limit - limit / 16
            while cost > goal {
                let oldest = caches.compactMap { cache in cache.oldestUse.map { (cache, $0) } }.sorted { $0.1 < $1.1 }
                guard let first = oldest.first else { return }
                let last = oldest.count > 1 ? oldest[1].1 : .max
                guard first.0.evict(cost - goal, usedUpTo: last) > 0 else { return }
            }
        }
    }
}
