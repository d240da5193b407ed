public import Contracts
public import Records
public import Timeline

/// The background delivery of one type of samples to an app. It outlives the process.
public struct EnabledHealthDelivery: Record, Equatable {
    /// The time of the last delivery.
    public var deliveredAt: Instant?
    public var frequency = HealthFrequency.immediate
    /// The number of consecutive deliveries whose completion handler the app did not call.
    public var misses = 0
    /// Whether samples wait for the next delivery.
    public var pending = false

    /// The time at which the system delivers the waiting samples; nil if there are none.
    var due: Instant? {
        guard pending else { return nil }
        guard let deliveredAt else { return .epoch }
        return deliveredAt + max(frequency.period, misses == 0 ? .zero : LifecyclePolicy.healthRetry * Int64(misses))
    }
}

extension HealthFrequency {
    var period: Interval {
        switch self {
        case .immediate: .zero
        case .hourly: .hours(1)
        case .daily: .days(1)
        }
    }
}
