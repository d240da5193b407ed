public import Contracts
public import Timeline

/// The moments at which a device's refreshes can happen: one a slot, at a place in it that depends on device and slot alone.
/// All apps of a device that are due in a slot so share one moment, and one wake of the device.
struct SlotGrid {
    private let slot: Int64
    private let jitter: Int64
    private let seed: UInt64

    init(key: AggregateKey, policy: FetchPolicy) {
        // FNV-1a: cheap, and the same everywhere.
        seed = key.description.utf8.reduce(0xcbf2_9ce4_8422_2325) { ($0 ^ UInt64($1)) &* 0x0000_0100_0000_01b3 }
        slot = max(1, policy.slot.milliseconds)
        jitter = min(max(0, policy.jitter.milliseconds), slot - 1)
    }

    func index(of moment: Instant) -> Int64 {
        // Moments before 1970 don't occur.
        max(0, moment.milliseconds) / slot
    }

    func moment(_ index: Int64) -> Instant {
        guard jitter > 0 else { return Instant(milliseconds: index * slot) }
        var hash = seed
        for shift in stride(from: 0, to: 64, by: 8) {
            hash = (hash ^ UInt64(truncatingIfNeeded: index >> Int64(shift)) & 0xFF) &* 0x0000_0100_0000_01b3
        }
        return Instant(milliseconds: index * slot + Int64((hash >> 32 ^ hash) & 0xFFFF_FFFF) % jitter)
    }

    /// The first moment that is not before another.
    func first(from moment: Instant) -> Int64 {
        let index = index(of: moment)
        return self.moment(index) >= moment ? index : index + 1
    }
}

extension Judgement {
    /// What the app's next refresh waits for as of `now`; nil where none is wanted, or one is under way.
    ///
    /// The value of a slot depends on its moment and not on `now`: time that passes under unchanged conditions changes no
    /// choice. That is what makes a forecast true.
    public func wait(_ key: AggregateKey, now: Instant) -> Wait? {
        guard app.declaresFetch, app.running == nil, let earliest, let pace = policy.pace(app.interval) else {
            return nil
        }
        let blockers = blockers
        guard blockers.isEmpty else { return Wait(at: nil, earliest: earliest, blockers: blockers) }
        let at = best(SlotGrid(key: key, policy: policy), from: max(now, earliest), earliest: earliest, pace: pace)
        return Wait(at: at, earliest: earliest)
    }

    /// The best slot within the horizon that reaches its threshold, the earliest of equals. Past the horizon the next one.
    func best(_ grid: SlotGrid, from: Instant, earliest: Instant, pace: Interval) -> Instant {
        let patience = policy.patience(pace)
        let steady = steady
        let most = steady.score(1000, policy.usageWeight)
        var best: (moment: Instant, value: Int)?
        var index = grid.first(from: from)
        let next = grid.moment(index)
        var last = next
        while case let moment = grid.moment(index), moment <= earliest + policy.horizon {
            let age = moment - earliest
            // However good the slots from here on are, waiting for them costs more than they can gain.
            if let best, most - policy.cost(of: age, pace) <= best.value { break }
            let score = steady.score(usage(at: moment), policy.usageWeight)
            let value = score - policy.cost(of: age, pace)
            if score >= policy.threshold(at: age, patience), best.map({ value > $0.value }) ?? true {
                best = (moment, value)
            }
            last = moment
            index += 1
        }
        return best?.moment ?? last
    }
}

extension FetchPolicy {
    /// What a slot must reach when the refresh has waited for so long.
    func threshold(at age: Interval, _ patience: Interval) -> Int {
        guard patience > .zero, age < patience else { return 0 }
        return threshold - threshold * Int(age.milliseconds) / Int(patience.milliseconds)
    }

    /// What a slot loses by having been waited for.
    func cost(of age: Interval, _ pace: Interval) -> Int {
        pace > .zero ? Int(age.milliseconds) * delayCost / Int(pace.milliseconds) : 0
    }
}
