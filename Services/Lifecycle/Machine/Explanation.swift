public import Contracts
import OrderedCollections
public import Records
public import Timeline

/// The reasons for the state of an app, its next change, and the result of each kind of wake now.
public struct Explanation: Record {
    public var app = ""
    public var backgroundRefresh = BackgroundRefreshStatus.available
    /// The reason for the state, as a sentence.
    public var because = ""
    /// The energy that the app has used until now.
    public var energy = EnergyLedger()
    /// The work that keeps the app running.
    public var heldBy: [Hold] = []
    /// The time and the energy until the app would run.
    public var launch = LaunchCost()
    /// The next change by time alone; nil if there is none.
    public var next: Nullable<Next> = nil
    /// The readings of the disputed rules that decided about the state.
    public var readings: [RuleReading] = []
    public var since: Nullable<Instant> = nil
    public var state = AppState.notRunning
    public var wakes: [WakeOutlook] = []
}

extension Explanation {
    /// A kind of work that keeps an app running.
    public enum HoldKind: String, WireEnum { case callback, task, wake, activity }

    /// Work that keeps an app running.
    public struct Hold: Record, Equatable {
        /// The time at which the system ends it; nil without a limit.
        public var deadline: Nullable<Instant> = nil
        public var kind = HoldKind.callback
        /// The name of the callback, task or activity, or the id of the task or wake.
        public var name = ""
        /// The termination reason at the deadline; nil if the app survives.
        public var otherwise: Nullable<EndReason> = nil

        init(_ kind: HoldKind, _ name: String, until deadline: Instant? = nil, otherwise: EndReason? = nil) {
            self.kind = kind
            self.name = name
            self.deadline = deadline
            self.otherwise = otherwise
        }
    }

    /// A change that happens without further input.
    public struct Next: Record, Equatable {
        public var at = Instant.epoch
        /// The termination reason; nil if the app survives.
        public var end: Nullable<EndReason> = nil
    }

    /// The result of a kind of wake if it came now.
    public struct WakeOutlook: Record, Equatable {
        /// A condition of the wake.
        public struct Factor: Record, Equatable {
            /// Whether the condition blocks the wake.
            public var blocks = false
            public var factor = WakeRefusal.notInstalled
        }

        /// All conditions, in the order of their checks.
        public var factors: [Factor] = []
        public var kind = WakeKind.fetch
        /// The time limit of its handler, in seconds.
        public var limitSeconds: Nullable<Interval> = nil
        public var reason = WakeReason.fetch
        /// The first factor that blocks.
        public var refusal: Nullable<WakeRefusal> = nil
        /// Whether the wake would be granted.
        public var wouldWake = false
    }
}

extension LifecycleMachine {
    /// Explains an app. Returns nil if it is not installed.
    public func explain(_ app: String, at now: Instant, _ policy: LifecyclePolicy) -> Explanation? {
        guard let record = apps[app] else { return nil }
        var explanation = Explanation()
        explanation.app = app
        explanation.state = record.state
        explanation.since = record.stateSince
        explanation.because = record.why
        explanation.readings = readings(about: record, app, policy)
        for decided in explanation.readings where decided.reading == .document {
            explanation.because += " The rule \(decided.rule.rawValue) is as in the source document."
        }
        explanation.heldBy = record.holds
        explanation.launch = LaunchCost(record.processStart)
        explanation.next = nextDeadline(of: record).map { at in
            var next = Explanation.Next()
            next.at = at
            next.end = record.limits.first { $0.at == at }?.reason
            return next
        }
        explanation.backgroundRefresh = backgroundRefreshStatus(app)
        explanation.wakes = WakeKind.allCases.map { outlook($0, app, at: now, policy) }
        explanation.energy = record.energy.metered(at: now)
        return explanation
    }

    /// Returns the disputed rules that decided about the state of an app, with their readings.
    private func readings(about record: InstalledApp, _ app: String, _ policy: LifecyclePolicy) -> [RuleReading] {
        let rules = DisputedRule.allCases.filter { rule in
            switch rule {
            // Whether the entry of an ended process stays. A force quit always removes it.
            case .appSwitcher: record.state == .notRunning && record.lastEnd.map { $0.reason != .forceQuit } ?? false
            case .backgroundAppRefresh:
                record.state == .suspended && !allowsActivities(app)
                    && policy[registration?.profile ?? .ios18].name.version >= 13
                    && record.manifest.backgroundModes.contains { mode in
                        ActivityKind.allCases.contains { $0.modes.contains(mode) }
                    }
            case .exitsOnSuspend:
                record.manifest.exitsOnSuspend && registration?.multitasking != false
                    && (record.lastEnd?.reason == .exitedOnSuspend || record.state == .suspended)
            case .redirects, .resourceTimeout, .sessionTransfers, .silentNotifications, .transferErrors: false
            }
        }
        return rules.map { RuleReading(reading: policy.generations[$0], rule: $0) }
    }

    /// Whether Background App Refresh is on, without which the source document allows no activities.
    func allowsActivities(_ app: String) -> Bool { isBackgroundRefreshOn(app) && !restrictions.backgroundRefresh }

    private func outlook(
        _ kind: WakeKind, _ app: String, at now: Instant, _ policy: LifecyclePolicy
    ) -> Explanation.WakeOutlook {
        let factors = factors(of: kind, for: app, at: now, policy)
        var outlook = Explanation.WakeOutlook()
        outlook.kind = kind
        outlook.reason = kind.reason
        outlook.refusal = factors.first(where: \.blocks)?.refusal
        outlook.wouldWake = outlook.refusal == nil
        outlook.limitSeconds = policy[registration?.profile ?? .ios18].limit(of: kind)
        outlook.factors = factors.map { factor in
            var item = Explanation.WakeOutlook.Factor()
            item.factor = factor.refusal
            item.blocks = factor.blocks
            return item
        }
        return outlook
    }
}

extension InstalledApp {
    fileprivate var holds: [Explanation.Hold] {
        var holds = pendingCallbacks.map { pending in
            Explanation.Hold(
                .callback, pending.callback.rawValue, until: pending.deadline, otherwise: ending ?? pending.timeout)
        }
        for (id, task) in tasks {
            holds.append(.init(.task, task.name ?? id, until: taskDeadline, otherwise: .backgroundTaskTimeout))
        }
        for (id, wake) in wakes where wake.deadline != nil {
            holds.append(
                .init(.wake, id, until: wake.deadline, otherwise: wake.timeout))
        }
        for kind in activities.keys { holds.append(.init(.activity, kind)) }
        return holds
    }

    fileprivate var why: String {
        switch state {
        case .active: return "The app is on screen."
        case .inactive:
            return isLaunching ? "The launch handlers have not returned." : "The app is on screen, but not active."
        case .background:
            if let ending { return "The app is terminating: \(ending.rawValue)." }
            return
                "Work prevents its suspension: \(holds.map { "\($0.kind.rawValue) \($0.name)" }.joined(separator: ", "))."
        case .suspended: return "The app has no work in the background."
        case .notRunning:
            guard let last = lastEnd else { return "The app was not launched since its installation." }
            let code = last.code.map { " (\($0.rawValue))" } ?? ""
            return "Its last process ended in state \(last.from.rawValue): \(last.reason.rawValue)\(code)."
        }
    }
}
