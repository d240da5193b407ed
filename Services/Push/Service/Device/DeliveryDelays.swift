import EventLog
import HTTPKit
import Telemetry
import Timeline

/// Measures the time from the decision to deliver a notification to the write on the connection of its device.
///
/// It measures only in real time. A jump of virtual time would count as a delay.
struct DeliveryDelays: Sendable {
    let clock: SharedClock
    let metrics: Metrics

    /// Notes a notification after its write.
    @Sendable func note(_ event: ServerSentEvent) {
        guard let decided = event.occurredAt, !clock.current.isVirtual else { return }
        metrics.observe(max(0, (clock.now - decided).seconds), in: .pushDelivery)
    }
}

extension Metric {
    static let pushDelivery = Metric(
        "dormouse_push_delivery_seconds",
        "Seconds from the decision to deliver a notification to the write on its device's connection, in real time.",
        .histogram([0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]))
}
