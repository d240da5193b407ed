import Synchronization

/// The bytes that the devices and tokens of each fleet store, and their limit.
///
/// No row of the database has the sum of a fleet. So each process counts all rows now and then, and until the next count
/// it adds what it stores itself. It does not know what other replicas store and remove meanwhile.
final class FleetBytes: Sendable {
    private struct Usage {
        var fleets: [String: Int] = [:]
        /// What this process has added since the current count began.
        var added: [String: Int] = [:]

        mutating func add(_ bytes: Int, to fleet: String) {
            fleets[fleet, default: 0] += bytes
            added[fleet, default: 0] += bytes
        }
    }

    /// The largest number of bytes of a fleet.
    private let limit: Int
    private let usage = Mutex(Usage())

    init(limit: Int) { self.limit = limit }

    /// Adds bytes if the fleet has room for them.
    ///
    /// - Parameter fleet: nil for an owner without a fleet, which has no limit.
    /// - Returns: whether it has room.
    func take(_ bytes: Int, of fleet: String?) -> Bool {
        guard let fleet else { return true }
        return usage.withLock { usage in
            guard bytes <= limit - usage.fleets[fleet, default: 0] else { return false }
            usage.add(bytes, to: fleet)
            return true
        }
    }

    /// Adds bytes that are stored already; a negative number for removed ones.
    func add(_ bytes: Int, to fleet: String?) {
        guard let fleet, bytes != 0 else { return }
        usage.withLock { $0.add(bytes, to: fleet) }
    }

    /// Returns the bytes that the fleet may still store; nil without a limit.
    func room(of fleet: String?) -> Int? {
        fleet.map { fleet in usage.withLock { max(0, limit - $0.fleets[fleet, default: 0]) } }
    }

    /// Begins to count the bytes of all fleets.
    func beginCount() { usage.withLock { $0.added = [:] } }

    /// Replaces the bytes of all fleets by the counted ones.
    func endCount(_ counted: [String: Int]) {
        usage.withLock { usage in
            // The count has an unknown part of what was added meanwhile. The known sum is exact if no other replica has
            // changed the fleet since the last count.
            let sums = Set(counted.keys).union(usage.added.keys).map { fleet in
                let count = counted[fleet, default: 0]
                let added = usage.added[fleet, default: 0]
                let range = min(count, count + added)...max(count, count + added)
                return (fleet, min(max(usage.fleets[fleet, default: 0], range.lowerBound), range.upperBound))
            }
            usage.fleets = Dictionary(uniqueKeysWithValues: sums)
        }
    }
}
