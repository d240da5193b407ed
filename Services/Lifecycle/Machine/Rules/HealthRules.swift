import Contracts
import Machines
import OrderedCollections
import Timeline

// Background delivery of HealthKit: a new sample wakes each app that asked for its type, at most once in the period of
// the app's frequency. The app must call the completion handler. If it does not, HealthKit tries again later. After
// three failures it stops the delivery (Apple, `HKObserverQueryCompletionHandler`). While a wake is open, the next
// samples of its type wait for its end (our choice), so each miss is one delivery.
extension Decision<LifecycleMachine> {
    mutating func enableHealthDelivery(
        _ app: String, _ sampleType: String, _ delivery: HealthDelivery
    ) throws(LifecycleRefusal) {
        let record = try running(app)
        try require(.healthDelivery)
        guard record.health[sampleType] != nil || record.health.count < LifecyclePolicy.healthTypesPerApp else {
            throw .tooManyHealthTypes
        }
        let frequency = LifecyclePolicy.healthFrequency(delivery.frequency, of: sampleType)
        guard record.health[sampleType]?.frequency != frequency else { return }
        emit(.healthDeliveryEnabled(.init(app: app, frequency: frequency, sampleType: sampleType)))
    }

    /// Disabling a delivery that is not enabled does nothing.
    mutating func disableHealthDelivery(_ app: String, _ sampleType: String) throws(LifecycleRefusal) {
        guard try running(app).health[sampleType] != nil else { return }
        emit(.healthDeliveryDisabled(.init(app: app, cause: .app, sampleType: sampleType)))
    }

    mutating func saveHealthSample(_ sampleType: String) throws(LifecycleRefusal) {
        try require(.healthDelivery)
        guard state.isPoweredOn else { throw .deviceOff }
        emit(.healthSampleSaved(.init(sampleType: sampleType)))
    }

    /// Delivers the samples that are due. A refused wake counts as a delivery: the app reads these samples with
    /// the next ones.
    mutating func deliverHealth() {
        let apps = state.known
        guard apps.indices.contains(where: { !apps[$0].health.isEmpty }) else { return }
        for app in state.apps.keys { reviewHealth(app) }
        guard state.isPoweredOn else { return }
        for app in state.apps.keys {
            for sampleType in state.apps[app]?.health.keys ?? [] {
                guard let record = state.apps[app], let due = record.healthDue(of: sampleType), due <= now else {
                    continue
                }
                let callbacks: [Callback] = record.state.isForeground ? [.updateHandler] : []
                emit(.healthUpdateDelivered(.init(app: app, callbacks: callbacks, sampleType: sampleType)))
                if callbacks.isEmpty { wake(app, for: .health, request: sampleType) }
            }
        }
    }

    /// Ends the deliveries whose completion handler the app did not call three times.
    private mutating func reviewHealth(_ app: String) {
        for (sampleType, delivery) in state.apps[app]?.health ?? [:]
        where delivery.misses >= LifecyclePolicy.healthMisses {
            emit(.healthDeliveryDisabled(.init(app: app, cause: .noResponse, sampleType: sampleType)))
        }
    }
}

extension InstalledApp {
    /// Ends a wake for HealthKit. Without a completion the samples are delivered again.
    mutating func endHealthWake(_ wake: Wake?, isCompleted: Bool) {
        guard let wake, wake.kind == .health, let sampleType = wake.request, var delivery = health[sampleType]
        else { return }
        delivery.misses = isCompleted ? 0 : delivery.misses + 1
        delivery.pending = delivery.pending || !isCompleted
        health[sampleType] = delivery
    }

    /// The time of the next delivery; nil if no samples wait, or if they wait for the end of a wake.
    var healthDue: Instant? { health.keys.compactMap(healthDue(of:)).min() }

    func healthDue(of sampleType: String) -> Instant? {
        let isHandled = wakes.values.contains { $0.kind == .health && $0.request == sampleType }
        return isHandled && !state.isForeground ? nil : health[sampleType]?.due
    }
}

extension LifecycleMachine {
    mutating func apply(_ event: LifecycleEvent.HealthSampleSaved) {
        for (id, app) in apps where app.health[event.sampleType] != nil {
            apps[id]?.health[event.sampleType]?.pending = true
        }
    }

    mutating func apply(_ event: LifecycleEvent.HealthUpdateDelivered, at time: Instant) {
        guard let app = event.app else { return }
        apps[app]?.health[event.sampleType]?.pending = false
        apps[app]?.health[event.sampleType]?.deliveredAt = time
    }
}
