import Synchronization

/// A cache whose aggregates can be evicted.
protocol Evictable: AnyObject, Sendable {
    /// The oldest use in the cache; nil if nothing can be evicted.
    var oldestUse: Int? { get }
    /// Evicts the least recently used aggregates, up to a use.
    ///
    /// - Returns: the freed memory, in bytes.
    func evict(_ cost: Int, usedUpTo last: Int) -> Int
}

/// The memory limit for the cached aggregates of a process, over all its partitions. It evicts the least recently used
/// ones first, whichever partition they belong to.
final class StateBudget: Sendable {
    /// In bytes.
    let limit: Int
    private let spent = Atomic(0)
    private let uses = Atomic(0)
    private let caches = Mutex<[any Evictable]>([])

    init(_ limit: Int) { self.limit = limit }

    /// Returns the approximate memory of an aggregate. The stored form is compact; a record in memory is larger.
    static func cost(ofStored bytes: Int) -> Int { 512 + 6 * bytes }

    var cost: Int { spent.load(ordering: .relaxed) }

    func add(_ cache: some Evictable) { caches.withLock { $0.append(cache) } }
    func nextUse() -> Int { uses.add(1, ordering: .relaxed).newValue }
    func spend(_ cost: Int) { spent.add(cost, ordering: .relaxed) }

    /// Evicts a little more than the excess over the limit, so that evictions are rare.
    func trim() {
        // If another thread evicts already, this one leaves the work to it. So each one looks again after its work.
        while cost > limit, caches.withLockIfAvailable({ evictExcess(of: $0) }) == true {}
    }

    /// - Returns: whether the memory came within the limit.
    private func evictExcess(of caches: [any Evictable]) -> Bool {
        let goal = limit - limit / 16
        while cost > goal {
            let oldest = caches.compactMap { cache in cache.oldestUse.map { (cache, $0) } }.sorted { $0.1 < $1.1 }
            guard let first = oldest.first else { return false }
            let last = oldest.count > 1 ? oldest[1].1 : .max
            guard first.0.evict(cost - goal, usedUpTo: last) > 0 else { return false }
        }
        return true
    }
}
