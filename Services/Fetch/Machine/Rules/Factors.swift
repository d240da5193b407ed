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

    public init(device: FetchMachine, app: ScheduledApp, policy: FetchPolicy) {
        self.device = device
        self.app = app
        self.policy = policy
        usagePeak = app.usage.peak
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
        case .rateLimit: rateLimit(at: moment)
        case .network: network
        case .deviceActivity: deviceActivity
        }
    }

    /// The factors that make it wait until they change, in the order in which factors are listed.
    var blockers: [FetchFactor] {
        FetchFactor.allCases.filter { $0 != .rateLimit && verdict($0, at: .epoch).isMustWait }
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
    func usage(at moment: Instant) -> Int {
        guard usagePeak > 0 else { return 500 }
        return app.usage.hours[device.hourOfWeek(moment + policy.openingLead, policy)] * 1000 / usagePeak
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
        return moment < earliest
            ? .mustWait("the interval has not passed since the last refresh or the setting", until: earliest)
            : .score(1000)
    }

    /// When interval and floor have passed; nil where no refresh is wanted.
    var earliest: Instant? {
        guard let spacing = policy.spacing(app.interval), let from = app.endedAt ?? app.intervalSetAt else {
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
            if device.apps.values.contains(where: \.inForeground) {
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
