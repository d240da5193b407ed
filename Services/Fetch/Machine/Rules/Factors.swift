public import Contracts
import OrderedCollections
public import Timeline

/// The verdict of a factor on a refresh.
public enum FactorResult: Sendable, Equatable {
    /// The factor blocks the refresh for a reason. `until` is nil if only a change ends the block.
    case mustWait(String, until: Instant? = nil)
    /// A score from 0 to 1000, which counts by its weight.
    case score(Int)

    var isMustWait: Bool {
        if case .mustWait = self { true } else { false }
    }
}

/// An evaluation of the factors for one app: its state, that of its device, and the policy.
public struct Evaluation: Sendable {
    let device: FetchMachine
    let app: ScheduledApp
    let policy: FetchPolicy
    private let usagePeak: Int
    private let openings: Int

    /// Creates an evaluation.
    public init(device: FetchMachine, app: ScheduledApp, policy: FetchPolicy) {
        self.device = device
        self.app = app
        self.policy = policy
        usagePeak = app.usage.peak
        openings = min(app.usage.openings, 1000)
    }

    /// Returns the verdict of a factor on a refresh at a time, if nothing changes until then.
    public func result(_ factor: FetchFactor, at moment: Instant) -> FactorResult {
        switch factor {
        case .battery: battery
        case .lowPowerMode: device.conditions.lowPowerMode == true ? .mustWait("Low Power Mode is on") : .score(1000)
        case .usage: .score(usage(at: moment))
        case .appSwitcher:
            app.forceQuit
                ? .mustWait("the user force-quit the app and has not opened it since") : .score(1000)
        case .backgroundRefresh: device.refreshDenial(of: app).map { .mustWait($0) } ?? .score(1000)
        case .budgets: budgets(at: moment)
        case .rateLimit: rateLimit(at: moment)
        case .network: network
        case .deviceActivity: deviceActivity
        case .herd: .score(herd)
        }
    }

    /// The factors that block a refresh until they change, in the order of all factors.
    var blockers: [FetchFactor] {
        Self.lasting.filter { result($0, at: .epoch).isMustWait }
    }

    /// The factors that do not depend on time.
    private static let lasting = FetchFactor.allCases.filter { factor in
        switch factor {
        case .battery, .lowPowerMode, .appSwitcher, .backgroundRefresh, .network, .deviceActivity: true
        case .usage, .budgets, .rateLimit, .herd: false
        }
    }

    /// Returns the weighted mean of the scores, in thousandths.
    public func score(at moment: Instant) -> Int { steady.score(usage(at: moment), policy.usageWeight) }

    /// The part of the mean that does not depend on time: all scores except the usage.
    var steady: SteadyScore {
        var steady = SteadyScore()
        if case .score(let score) = network { steady.add(score, policy.networkWeight) }
        if case .score(let score) = deviceActivity { steady.add(score, policy.deviceActivityWeight) }
        return steady
    }

    /// Returns how likely the user opens the app soon after a time, in thousandths of the likeliest hour. The score is
    /// neutral before the first opening.
    func usage(at moment: Instant) -> Int { usage(at: moment, HoursOfWeek()) }

    func usage(at moment: Instant, _ hours: HoursOfWeek) -> Int {
        guard usagePeak > 0 else { return 500 }
        let moment = moment + policy.openingLead
        let hour = hours.hour(moment) ?? device.hourOfWeek(moment, policy)
        // Few openings say little about the other hours, so the neutral score counts as much as one opening.
        return (app.usage.weight(hour) * 1000 / usagePeak * openings + 500) / (openings + 1)
    }

    /// Returns the hours of the week between two times. Without a change of clocks in between, one look-up is enough.
    func hours(from: Instant, to: Instant) -> HoursOfWeek {
        guard usagePeak > 0 else { return HoursOfWeek() }
        guard let zone = device.timeZone else { return HoursOfWeek(offset: 0) }
        let offset = policy.timeZoneOffset(zone, from)
        return HoursOfWeek(offset: policy.timeZoneOffset(zone, to + policy.openingLead) == offset ? offset : nil)
    }

    /// Returns the rest of the budget of the app or the device, whichever is smaller.
    private func budgets(at moment: Instant) -> FactorResult {
        let fundedAt = fundedAt
        guard fundedAt <= moment else {
            let isApp = policy.appBudget.allows(app.budgetUsage) == fundedAt
            return .mustWait(
                "the \(isApp ? "app" : "device") has spent its budget for this part of the day",
                until: fundedAt)
        }
        func left(_ budgetUsage: BudgetUsage, _ budget: Budget) -> Int {
            let spent = budgetUsage.asOf(moment)
            func share(_ spent: Int, _ limit: Int) -> Int {
                limit > 0 ? 1000 - Int(min(1, Double(spent) / Double(limit)) * 1000) : 0
            }
            return min(share(spent.millijoules, budget.millijoules), share(spent.bytes, budget.bytes))
        }
        return .score(min(left(app.budgetUsage, policy.appBudget), left(device.budgetUsage, policy.deviceBudget)))
    }

    /// The score of the distance between the reserved time and the best time.
    private var herd: Int {
        guard let wait = app.wait, wait.ceiling != nil, let at = wait.at, let aim = wait.aim, policy.reach > .zero
        else { return 1000 }
        let apart = at < aim ? aim - at : at - aim
        return 999 - Int(min(apart, policy.reach).milliseconds * 999 / policy.reach.milliseconds)
    }

    private var battery: FactorResult {
        guard let battery = device.conditions.battery, !battery.charging, battery.level < policy.batteryLimit else {
            return .score(1000)
        }
        return .mustWait("the battery is low and not charging")
    }

    private func rateLimit(at moment: Instant) -> FactorResult {
        if let running = app.running { return .mustWait("refresh \(running.fetch) is in progress") }
        guard let earliest else { return .mustWait("no interval is set") }
        if moment < earliest {
            let isPaused = policy.spacing(app).map { $0 > policy.asked(app.interval) } ?? false
            return .mustWait(
                isPaused
                    ? "the minimum gap, which is longer for this app's results, has not passed since the last refresh"
                    : "the interval has not passed since the last refresh or since it was set", until: earliest)
        }
        if let wokenAt = device.wokenAt, moment >= wokenAt, !policy.areCompatible(moment, wokenAt) {
            return .mustWait(
                "the last wake of the device was too short ago", until: wokenAt + policy.deviceSpacing)
        }
        return .score(1000)
    }

    /// The time at which interval and floor have passed; nil if no refresh is wanted.
    var earliest: Instant? {
        guard let spacing = policy.spacing(app), let from = app.endedAt ?? app.intervalSetAt else {
            return nil
        }
        let passed = from + spacing
        return app.refusedAt.map { max(passed, $0 + policy.floor) } ?? passed
    }

    private var network: FactorResult {
        let network = device.conditions.network ?? .init()
        switch network.kind {
        case .none: return .mustWait("the device has no network")
        case .cellular, .wifi:
            if network.expensive { return .score(500) }
            return .score(network.kind == .wifi ? 1000 : 800)
        }
    }

    /// The score is low while the user is busy, high on a charger, and halved by a serious thermal state.
    private var deviceActivity: FactorResult {
        guard device.isPoweredOn else { return .mustWait("the device is switched off") }
        guard !app.inForeground else { return .mustWait("the app is in the foreground") }
        let calm =
            if device.isAnyInForeground {
                300
            } else if device.conditions.locked != true {
                600
            } else {
                device.conditions.battery?.charging == true ? 1000 : 800
            }
        switch device.conditions.thermal ?? .nominal {
        case .nominal, .fair: return .score(calm)
        case .serious: return .score(calm / 2)
        case .critical: return .mustWait("the device is too hot")
        }
    }
}

/// The hour of the week of an instant, without a look-up of the time zone.
struct HoursOfWeek {
    /// The seconds east of UTC; nil if they change or are unknown.
    var offset: Int?

    func hour(_ moment: Instant) -> Int? { offset.map { UsageProfile.hourOfWeek(moment, offset: $0) } }
}

/// A weighted sum of scores.
struct SteadyScore {
    private var sum = 0
    private var weight = 0

    mutating func add(_ score: Int, _ counts: Int) {
        sum += score * counts
        weight += counts
    }

    /// Returns the mean with one more score; 0 if no weight is above 0.
    func score(_ more: Int, _ counts: Int) -> Int {
        weight + counts > 0 ? (sum + more * counts) / (weight + counts) : 0
    }
}

extension FetchMachine {
    /// Returns the hour of the week of an instant in local time.
    func hourOfWeek(_ moment: Instant, _ policy: FetchPolicy) -> Int {
        UsageProfile.hourOfWeek(moment, offset: timeZone.map { policy.timeZoneOffset($0, moment) } ?? 0)
    }
}
