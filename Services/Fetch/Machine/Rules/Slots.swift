import Contracts
import Timeline

/// The times at which a device's refreshes can happen: one in each slot, which depends only on the device and the slot.
/// All apps of a device that are due in a slot share this time and one wake.
struct SlotGrid {
    private let slot: Int64
    private let jitter: Int64
    private let seed: UInt64

    init(key: AggregateKey, policy: FetchPolicy) {
        // FNV-1a is cheap and deterministic.
        seed = key.description.utf8.reduce(0xcbf2_9ce4_8422_2325) { ($0 ^ UInt64($1)) &* 0x0000_0100_0000_01b3 }
        slot = max(1, policy.slot.milliseconds)
        jitter = min(max(0, policy.jitter.milliseconds), slot - 1)
    }

    func index(of moment: Instant) -> Int64 {
        // Times before 1970 do not occur.
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

    /// Returns the first slot whose time is not before an instant.
    func first(from moment: Instant) -> Int64 {
        let index = index(of: moment)
        return self.moment(index) >= moment ? index : index + 1
    }
}

/// The best time for a wake without other wakes.
struct Plan: Equatable {
    /// The best time; nil while factors block the refresh.
    var aim: Instant?
    /// The time at which interval and floor have passed.
    var earliest: Instant
    /// The time at which the budgets allow it; nil if they do at `earliest`.
    var fundedAt: Instant?
    var blockers: [FetchFactor] = []

    /// The earliest time of the wake.
    var start: Instant { max(earliest, fundedAt ?? earliest) }
}

extension Evaluation {
    /// Returns the best time for the next refresh as of `now`; nil if none is wanted or one is in progress.
    ///
    /// The value of a slot depends on its time and not on `now`. So the choice is stable under unchanged conditions, which
    /// makes forecasts come true.
    func plan(_ key: AggregateKey, now: Instant) -> Plan? {
        guard app.fetches(on: policy.profile(of: device)), app.running == nil, let earliest,
            let effectiveInterval = policy.effectiveInterval(app)
        else {
            return nil
        }
        let fundedAt = fundedAt
        var plan = Plan(earliest: earliest, fundedAt: fundedAt > earliest ? fundedAt : nil, blockers: blockers)
        guard plan.blockers.isEmpty else { return plan }
        let from = max(plan.start, app.wait.since(now))
        plan.aim = best(
            SlotGrid(key: key, policy: policy), from: from, earliest: plan.start, effectiveInterval: effectiveInterval)
        return plan
    }

    /// The time at which the budgets of app and device cover their spending.
    var fundedAt: Instant {
        max(policy.appBudget.allows(app.budgetUsage), policy.deviceBudget.allows(device.budgetUsage))
    }

    /// Returns the best slot in the horizon that reaches its threshold, the earliest of equals. Past it, the next slot.
    func best(_ grid: SlotGrid, from: Instant, earliest: Instant, effectiveInterval: Interval) -> Instant {
        let decay = policy.thresholdDecay(effectiveInterval)
        let steady = steady
        let most = steady.score(1000, policy.usageWeight)
        let hours = hours(from: from, to: max(from, earliest) + policy.horizon)
        var best: (moment: Instant, value: Int)?
        var index = grid.first(from: from)
        var moment = grid.moment(index)
        var last = moment
        let end = earliest + policy.horizon
        while moment <= end {
            let age = moment - earliest
            // From here on, the cost of waiting exceeds the gain of any slot.
            if let best, most - policy.cost(of: age, effectiveInterval) <= best.value { break }
            let score = steady.score(usage(at: moment, hours), policy.usageWeight)
            let value = score - policy.cost(of: age, effectiveInterval)
            if score >= policy.threshold(at: age, decay), best.map({ value > $0.value }) ?? true {
                best = (moment, value)
            }
            last = moment
            index += 1
            moment = grid.moment(index)
        }
        return best?.moment ?? last
    }
}

extension Wait? {
    /// Returns the time from which to search a slot. A reservation after the best time stays although the best time has
    /// passed.
    fileprivate func since(_ now: Instant) -> Instant {
        guard let self, let at = self.at, let aim = self.aim, at >= now else { return now }
        return Swift.min(now, aim)
    }
}

extension FetchPolicy {
    /// Returns the threshold for a slot after a time of waiting.
    func threshold(at age: Interval, _ decay: Interval) -> Int {
        guard decay > .zero, age < decay else { return 0 }
        return threshold - threshold * Int(age.milliseconds) / Int(decay.milliseconds)
    }

    /// Returns the score that a slot loses by waiting.
    func cost(of age: Interval, _ effectiveInterval: Interval) -> Int {
        effectiveInterval > .zero ? Int(age.milliseconds) * delayCost / Int(effectiveInterval.milliseconds) : 0
    }
}
