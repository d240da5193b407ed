public import Contracts
import OrderedCollections
public import Timeline

/// What one factor says of a refresh.
public enum Verdict: Sendable, Equatable {
    /// It can't happen, whatever the others say. `until` is nil where only a change ends it.
    case mustWait(String, until: Instant? = nil)
    /// From 0 to 1000; how much it counts is a matter of weights.
    case score(Int)

    var isMustWait: Bool {
        if case .mustWait = self { true } else { false }
    }
}

/// A judgement of the refreshes of one app: the device and the app as they are, by a policy.
public struct Judgement: Sendable {
    let device: FetchMachine
    let app: ScheduledApp
    let policy: FetchPolicy
    private let usagePeak: Int
    private let openings: Int

    public init(device: FetchMachine, app: ScheduledApp, policy: FetchPolicy) {
        self.device = device
        self.app = app
        self.policy = policy
        usagePeak = app.usage.peak
        openings = min(app.usage.openings, 1000)
    }

    /// The verdict of a factor on a refresh at a moment, if nothing changes until then.
    public func verdict(_ factor: FetchFactor, at moment: Instant) -> Verdict {
        switch factor {
        case .battery: battery
        case .lowPowerMode: device.conditions.lowPowerMode == true ? .mustWait("Low Power Mode is on") : .score(1000)
        case .usage: .score(usage(at: moment))
        case .appSwitcher:
            app.forceQuit
                ? .mustWait("the user ended the app in the switcher and has not opened it since") : .score(1000)
        case .backgroundRefresh: backgroundRefresh
        case .budgets: budgets(at: moment)
        case .rateLimit: rateLimit(at: moment)
        case .network: network
        case .deviceActivity: deviceActivity
        case .herd: .score(herd)
        }
    }

    /// The factors that make it wait until they change, in the order in which factors are listed.
    var blockers: [FetchFactor] {
        Self.lasting.filter { verdict($0, at: .epoch).isMustWait }
    }

    /// The factors that time alone does not change.
    private static let lasting = FetchFactor.allCases.filter { factor in
        switch factor {
        case .battery, .lowPowerMode, .appSwitcher, .backgroundRefresh, .network, .deviceActivity: true
        case .usage, .budgets, .rateLimit, .herd: false
        }
    }

    /// The mean of the weighted scores, in thousandths.
    public func score(at moment: Instant) -> Int { steady.score(usage(at: moment), policy.usageWeight) }

    /// What all moments share of the mean: everything but the usage.
    var steady: SteadyScore {
        var steady = SteadyScore()
        if case .score(let score) = network { steady.add(score, policy.networkWeight) }
        if case .score(let score) = deviceActivity { steady.add(score, policy.deviceActivityWeight) }
        return steady
    }

    /// How likely the user opens the app soon after a moment, in thousandths of the likeliest hour. A profile that is not
    /// learned speaks neither for nor against.
    func usage(at moment: Instant) -> Int { usage(at: moment, HoursOfWeek()) }

    func usage(at moment: Instant, _ hours: HoursOfWeek) -> Int {
        guard usagePeak > 0 else { return 500 }
        let moment = moment + policy.openingLead
        let hour = hours.hour(moment) ?? device.hourOfWeek(moment, policy)
        // One opening alone says little of the other hours: what is not known counts as much as it.
        return (app.usage.weight(hour) * 1000 / usagePeak * openings + 500) / (openings + 1)
    }

    /// The hours of week between two moments. Where the clocks are not changed in between one question to the time zone will do.
    func hours(from: Instant, to: Instant) -> HoursOfWeek {
        guard usagePeak > 0 else { return HoursOfWeek() }
        guard let zone = device.timeZone else { return HoursOfWeek(offset: 0) }
        let offset = policy.timeZoneOffset(zone, from)
        return HoursOfWeek(offset: policy.timeZoneOffset(zone, to + policy.openingLead) == offset ? offset : nil)
    }

    /// What is left of the budgets, of that of app and device which has less.
    private func budgets(at moment: Instant) -> Verdict {
        let fundedAt = fundedAt
        guard fundedAt <= moment else {
            let isApp = policy.appBudget.allows(app.spending) == fundedAt
            return .mustWait(
                "the refreshes of the \(isApp ? "app" : "device") have spent what the day allows so far",
                until: fundedAt)
        }
        func left(_ spending: Spending, _ budget: Budget) -> Int {
            let spent = spending.asOf(moment)
            func share(_ spent: Int, _ limit: Int) -> Int {
                limit > 0 ? 1000 - Int(min(1, Double(spent) / Double(limit)) * 1000) : 0
            }
            return min(share(spent.millijoules, budget.millijoules), share(spent.bytes, budget.bytes))
        }
        return .score(min(left(app.spending, policy.appBudget), left(device.spending, policy.deviceBudget)))
    }

    /// How little the moment that is held differs from what would be best.
    private var herd: Int {
        guard let wait = app.wait, wait.ceiling != nil, let at = wait.at, let aim = wait.aim, policy.reach > .zero
        else { return 1000 }
        let apart = at < aim ? aim - at : at - aim
        return 999 - Int(min(apart, policy.reach).milliseconds * 999 / policy.reach.milliseconds)
    }

    private var battery: Verdict {
        guard let battery = device.conditions.battery, !battery.charging, battery.level < policy.batteryLimit else {
            return .score(1000)
        }
        return .mustWait("the battery is low and not charging")
    }

    private var backgroundRefresh: Verdict {
        if device.isBackgroundRefreshRestricted {
            return .mustWait("Background App Refresh is restricted on the device")
        }
        if device.backgroundRefresh == .off { return .mustWait("Background App Refresh is off for the device") }
        return app.backgroundRefresh == .off ? .mustWait("Background App Refresh is off for the app") : .score(1000)
    }

    private func rateLimit(at moment: Instant) -> Verdict {
        if let running = app.running { return .mustWait("the refresh \(running.fetch) is under way") }
        guard let earliest else { return .mustWait("no interval is set") }
        if moment < earliest {
            let isPaused = policy.spacing(app).map { $0 > policy.asked(app.interval) } ?? false
            return .mustWait(
                isPaused
                    ? "the pause that the app's results have earned it has not passed since the last refresh"
                    : "the interval has not passed since the last refresh or the setting", until: earliest)
        }
        if let wokenAt = device.wokenAt, moment >= wokenAt, !policy.areCompatible(moment, wokenAt) {
            return .mustWait(
                "the device was woken a moment ago, and its wakes are spaced", until: wokenAt + policy.deviceSpacing)
        }
        return .score(1000)
    }

    /// When interval and floor have passed; nil where no refresh is wanted.
    var earliest: Instant? {
        guard let spacing = policy.spacing(app), let from = app.endedAt ?? app.intervalSetAt else {
            return nil
        }
        let passed = from + spacing
        return app.refusedAt.map { max(passed, $0 + policy.floor) } ?? passed
    }

    private var network: Verdict {
        let network = device.conditions.network ?? .init()
        switch network.kind {
        case .none: return .mustWait("the device has no network")
        case .cellular, .wifi:
            if network.constrained { return .score(200) }
            if network.expensive { return .score(500) }
            return .score(network.kind == .wifi ? 1000 : 800)
        }
    }

    /// A user who is busy with the device lowers it, a device that lies on its charger raises it; heat halves it.
    private var deviceActivity: Verdict {
        guard device.isPoweredOn else { return .mustWait("the device is switched off") }
        guard !app.inForeground else { return .mustWait("the app is on screen") }
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

/// Which hour of the week a moment falls into, where that takes no look at a time zone.
struct HoursOfWeek {
    /// Seconds east of UTC; nil where they change, or are not known.
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

    /// The mean with one more score; 0 where nothing counts.
    func score(_ more: Int, _ counts: Int) -> Int {
        weight + counts > 0 ? (sum + more * counts) / (weight + counts) : 0
    }
}

extension FetchMachine {
    /// The hour of the week of a moment, where the device is.
    func hourOfWeek(_ moment: Instant, _ policy: FetchPolicy) -> Int {
        UsageProfile.hourOfWeek(moment, offset: timeZone.map { policy.timeZoneOffset($0, moment) } ?? 0)
    }
}
