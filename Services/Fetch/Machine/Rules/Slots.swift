import Contracts
import Timeline

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

/// What would be best for a wake, whatever other wakes there are.
struct Plan: Equatable {
    /// The best moment; nil while factors block it.
    var aim: Instant?
    /// When interval and floor have passed.
    var earliest: Instant
    /// When the budgets allow it; nil where they do by then.
    var fundedAt: Instant?
    var blockers: [FetchFactor] = []

    /// Never before this.
    var start: Instant { max(earliest, fundedAt ?? earliest) }
}

extension Judgement {
    /// What would be best for the app's next refresh as of `now`; nil where none is wanted, or one is under way.
    ///
    /// The value of a slot depends on its moment and not on `now`: time that passes under unchanged conditions changes no
    /// choice. That is what makes a forecast true.
    func plan(_ key: AggregateKey, now: Instant) -> Plan? {
        guard app.fetches(on: device.profile), app.running == nil, let earliest, let pace = policy.pace(app) else {
            return nil
        }
        let fundedAt = fundedAt
        var plan = Plan(earliest: earliest, fundedAt: fundedAt > earliest ? fundedAt : nil, blockers: blockers)
        guard plan.blockers.isEmpty else { return plan }
        let from = max(plan.start, app.wait.since(now))
        plan.aim = best(SlotGrid(key: key, policy: policy), from: from, earliest: plan.start, pace: pace)
        return plan
    }

    /// When what app and device have spent is covered again.
    var fundedAt: Instant {
        max(policy.appBudget.allows(app.spending), policy.deviceBudget.allows(device.spending))
    }

    /// The best slot within the horizon that reaches its threshold, the earliest of equals. Past the horizon the next one.
    func best(_ grid: SlotGrid, from: Instant, earliest: Instant, pace: Interval) -> Instant {
        let patience = policy.patience(pace)
        let steady = steady
        let most = steady.score(1000, policy.usageWeight)
        let hours = hours(from: from, to: max(from, earliest) + policy.horizon)
        var best: (moment: Instant, value: Int)?
        var index = grid.first(from: from)
        let next = grid.moment(index)
        var last = next
        while case let moment = grid.moment(index), moment <= earliest + policy.horizon {
            let age = moment - earliest
            // However good the slots from here on are, waiting for them costs more than they can gain.
            if let best, most - policy.cost(of: age, pace) <= best.value { break }
            let score = steady.score(usage(at: moment, hours), policy.usageWeight)
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

extension Wait? {
    /// From when on its slot is to be looked for: a moment that is held, and comes later than what would be best, is not given up
    /// because that has passed.
    fileprivate func since(_ now: Instant) -> Instant {
        guard let self, let at = self.at, let aim = self.aim, at >= now else { return now }
        return Swift.min(now, aim)
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
