public import Contracts
import Machines
import OrderedCollections
public import Timeline

/// A condition of a wake, and whether it blocks the wake.
public struct WakeFactor: Sendable, Equatable {
    public var refusal: WakeRefusal
    public var blocks: Bool
}

// The conditions of wakes, for decisions and for explanations.
extension LifecycleMachine {
    /// Returns all conditions in the order of their checks, from the app and the device to the settings of the user.
    /// The first blocking one is the refusal.
    public func factors(
        of kind: WakeKind, for app: String, at now: Instant, _ policy: LifecyclePolicy
    ) -> [WakeFactor] {
        guard let record = apps[app] else { return [WakeFactor(refusal: .notInstalled, blocks: true)] }
        let profile = policy[registration?.profile ?? .ios18]
        let rule = WakeRule(kind, profile)
        let isShort = conditions.memoryPressure == .critical && record.state == .notRunning
        var factors: [WakeFactor] = []
        func ask(_ refusal: WakeRefusal, _ blocks: Bool) {
            factors.append(WakeFactor(refusal: refusal, blocks: blocks))
        }
        ask(.notInstalled, false)
        ask(.unsupportedOnProfile, profile.limit(of: kind) == nil || rule.feature.map(profile.has) == false)
        if !rule.modes.isEmpty {
            ask(.modeNotDeclared, !rule.modes.contains(where: record.manifest.backgroundModes.contains))
        }
        ask(.deviceOff, !isPoweredOn)
        if !rule.startsOnScreen { ask(.inForeground, rule.needsLocation ? record.isInUse : record.state.isForeground) }
        ask(.terminating, record.ending != nil)
        if rule.needsLocation { ask(.locationNotAuthorized, record.locationAuthorization != .always) }
        if rule.needsFullAccuracy { ask(.accuracyReduced, !record.locationAccuracy.isFull) }
        if rule.needsProcess { ask(.notRunning, record.state == .notRunning) }
        if rule.heedsForceQuit { ask(.forceQuit, record.forceQuit) }
        if rule.heedsBackgroundRefresh {
            ask(.backgroundRefreshRestricted, restrictions.backgroundRefresh)
            ask(.backgroundRefreshDenied, !isBackgroundRefreshOn(app))
        }
        if rule.isOpportunistic {
            ask(.lowPowerMode, conditions.lowPowerMode == true)
            ask(.lowDataMode, isLowDataMode)
        }
        if rule.isOpportunistic || kind == .voipSocket { ask(.memoryPressure, isShort) }
        if kind == .newsstand { ask(.alreadyWokenToday, record.wasWokenToday(at: now)) }
        if kind.reason == .voip { ask(.resumedTooOften, record.isResumedTooOften(at: now)) }
        if kind == .voipPush { ask(.callsNotReported, record.reportsNoCalls(at: now)) }
        return factors
    }
}

extension InstalledApp {
    fileprivate func wasWokenToday(at now: Instant) -> Bool {
        newsstandWokenAt.map { now - $0 < LifecyclePolicy.newsstandPause } ?? false
    }

    /// Whether it repeatedly did not report a call (Apple, `PKPushType.voIP`: "the system stops launching your app for
    /// VoIP push notifications").
    fileprivate func reportsNoCalls(at now: Instant) -> Bool {
        unreportedCalls.count { now - $0 < LifecyclePolicy.unreportedSpan } >= LifecyclePolicy.unreportedCalls
    }

    fileprivate func isResumedTooOften(at now: Instant) -> Bool {
        voipResumptions.count { now - $0 < LifecyclePolicy.voipSpan } >= LifecyclePolicy.voipResumptions
    }
}
