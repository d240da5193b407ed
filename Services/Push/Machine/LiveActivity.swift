public import Contracts
public import Records
public import Timeline

/// A Live Activity of an app, until its dismissal.
public struct LiveActivity: Record, Equatable {
    /// `ActivityState`, without `dismissed`.
    public enum State: String, WireEnum {
        /// It is visible and can be updated.
        case active
        /// Its content is out of date.
        case stale
        /// It is visible, and its content does not change any more.
        case ended
    }

    /// The name of its `ActivityAttributes`.
    public var attributesType: String?
    /// The broadcast channel of its updates.
    public var channel: String?
    /// Its `ContentState`.
    public var contentState = JSON.null
    /// The time at which the system dismisses it; nil while it has not ended.
    public var dismissalDate: Instant?
    /// The environment of its token and its channel; nil without both.
    public var environment: PushEnvironment?
    public var frequentUpdates = false
    /// The time at which its budget of updates is full again.
    public var fullAt = Instant.epoch
    /// The time at which its content becomes stale.
    public var staleDate: Instant?
    public var startedAt = Instant.epoch
    public var state = State.active
    /// The newest `timestamp` of its pushes, in seconds of the provider's clock.
    public var timestamp = 0

    /// The longest time for which it is active (secondary sources: eight hours, then the system ends it).
    public static let activeTime = Interval.hours(8)
    /// The longest time on the Lock Screen after its end (Apple, `ActivityUIDismissalPolicy.default`: four hours).
    public static let lockScreenTime = Interval.hours(4)
    /// The largest size of its content in bytes (Apple, `Activity.update(_:alertConfiguration:timestamp:)`: 4 KB).
    public static let contentBytes = 4096

    /// The time of its next change by the system.
    var due: Instant? {
        switch state {
        case .active: staleDate.map { min($0, startedAt + Self.activeTime) } ?? startedAt + Self.activeTime
        case .stale: startedAt + Self.activeTime
        case .ended: dismissalDate
        }
    }

    /// Returns when its budget next allows an update.
    func available(_ policy: PushPolicy) -> Instant { fullAt - refill(policy) * (policy.activityBurst - 1) }

    /// Returns when its budget is full again after one more update.
    func afterSpending(at now: Instant, _ policy: PushPolicy) -> Instant { max(fullAt, now) + refill(policy) }

    private func refill(_ policy: PushPolicy) -> Interval {
        frequentUpdates ? policy.frequentActivityRefill : policy.activityRefill
    }
}
