import Contracts
import Machines
import OrderedCollections
import Timeline

// `CLMonitor`. The conditions of a monitor outlive the process. A change wakes the app as a region does, also after a force
// quit (our choice). The app gets the event after its process has opened the monitor.
extension Decision<LifecycleMachine> {
    /// Creates a monitor, or opens the stored one. The events that wait for it follow at once.
    mutating func openMonitor(_ app: String, _ name: String) throws(LifecycleRefusal) {
        let record = try running(app)
        try require(.locationMonitors)
        guard record.monitors[name] != nil || record.monitors.count < LifecyclePolicy.monitorsPerApp else {
            throw .tooManyMonitors
        }
        if record.monitors[name]?.isOpen != true { emit(.monitorOpened(.init(app: app, monitor: name))) }
    }

    /// Adds a condition to an open monitor. It replaces a condition with the same identifier.
    mutating func addCondition(
        _ app: String, _ monitor: String, _ identifier: String, _ condition: MonitorCondition
    ) throws(LifecycleRefusal) {
        let record = try running(app)
        try require(.locationMonitors)
        guard let open = record.monitors[monitor], open.isOpen else { throw .monitorNotOpen(monitor) }
        guard (condition.circle == nil) != (condition.beacon == nil) else { throw .conditionUnclear }
        guard condition.beacon?.isComplete != false else { throw .beaconMajorMissing }
        guard condition.circle == nil || state.registration?.gps != false else {
            throw .unavailableOnDevice("circular conditions need GPS")
        }
        guard record.locationAuthorization.allowsUpdates else { throw .locationDenied }
        let count = record.monitors.values.reduce(0) { $0 + $1.conditions.count }
        guard open.conditions[identifier] != nil || count < LifecyclePolicy.conditionsPerApp else {
            throw .tooManyConditions
        }
        guard open.conditions[identifier]?.condition != condition else { return }
        emit(
            .monitorConditionAdded(.init(app: app, condition: condition, identifier: identifier, monitor: monitor)))
        changeConditions(app)
    }

    /// Removing an unknown condition does nothing.
    mutating func removeCondition(_ app: String, _ monitor: String, _ identifier: String) throws(LifecycleRefusal) {
        guard let open = try running(app).monitors[monitor], open.isOpen else { throw .monitorNotOpen(monitor) }
        guard open.conditions[identifier] != nil else { return }
        emit(.monitorConditionRemoved(.init(app: app, identifier: identifier, monitor: monitor)))
    }

    /// Emits the changes of an app's conditions that are due. Only a known state wakes the app (our choice).
    mutating func changeConditions(_ app: String) {
        for (name, monitor) in state.apps[app]?.monitors ?? [:] {
            for (identifier, condition) in monitor.conditions {
                guard let next = condition.next, let due = condition.changeDue, due <= now else { continue }
                emit(
                    .monitorConditionChanged(
                        .init(app: app, identifier: identifier, monitor: name, state: next)))
                // An open wake takes the event. The app may have to open the monitor first.
                let isCalled = takesEvents(app, of: .monitor) || monitor.isOpen && !told(.monitorEvent, app).isEmpty
                if !isCalled, next != .unknown { wake(app, for: .monitor, request: name) }
            }
        }
    }

    /// Delivers the events that wait for an open monitor of an app whose code may get locations now.
    mutating func deliverMonitorEvents() {
        let apps = state.known
        for (index, app) in state.apps.keys.enumerated() where !apps[index].monitors.isEmpty {
            while let waiting = state.apps[app]?.waitingMonitorEvents, !waiting.isEmpty {
                for (monitor, identifier, state) in waiting {
                    emit(
                        .monitorEventDelivered(
                            .init(
                                app: app, callbacks: [.monitorEvent], identifier: identifier, monitor: monitor,
                                state: state)))
                }
                // A delivered condition is monitored again, and may have changed meanwhile.
                changeConditions(app)
            }
        }
    }
}

extension InstalledApp {
    /// The events that the app gets now from its open monitors.
    fileprivate var waitingMonitorEvents: [(monitor: String, condition: String, state: MonitoringState)] {
        guard getsMonitorEvents else { return [] }
        return monitors.filter(\.value.isOpen).flatMap { name, monitor in
            monitor.conditions.filter(\.value.isPending).map { (name, $0.key, $0.value.state) }
        }
    }

    /// Whether a monitor of the running app gets events: with `always` in any state, otherwise while it is in use.
    private var getsMonitorEvents: Bool {
        guard ending == nil, locationAuthorization.allowsUpdates else { return false }
        return isInUse || state.isRunning && locationAuthorization == .always
    }

    /// Whether its regions and conditions use GPS.
    var monitorsPlaces: Bool {
        guard locationAccuracy.isFull else { return false }
        return !regions.isEmpty
            || monitors.values.contains { $0.conditions.values.contains { $0.condition.circle != nil } }
    }

    /// Closes the monitors with the process. Only conditions outlive it.
    mutating func closeMonitors() {
        monitors.removeAll { $0.value.conditions.isEmpty }
        for name in monitors.keys { monitors[name]?.isOpen = false }
    }

    /// Changes all conditions of all monitors.
    mutating func changeConditions(_ change: (inout MonitoredCondition) -> Void) {
        for (name, monitor) in monitors {
            for (identifier, condition) in monitor.conditions {
                var condition = condition
                change(&condition)
                monitors[name]?.conditions[identifier] = condition
            }
        }
    }
}

extension LifecycleMachine {
    mutating func apply(_ event: LifecycleEvent.MonitorConditionAdded, at time: Instant) {
        guard let app = event.app else { return }
        apps[app]?.monitors[event.monitor]?.conditions[event.identifier] = MonitoredCondition(event.condition)
        if isPoweredOn { apps[app]?.track(conditions, at: time) }
    }

    mutating func apply(_ event: LifecycleEvent.MonitorEventDelivered, at time: Instant) {
        guard let app = event.app else { return }
        apps[app]?.monitors[event.monitor]?.conditions[event.identifier]?.isPending = false
        if isPoweredOn { apps[app]?.track(conditions, at: time) }
    }
}

extension LifecycleEvent.MonitorConditionChanged {
    /// Changes the condition in an app. The event waits for delivery.
    func apply(to record: inout InstalledApp) {
        record.monitors[monitor]?.conditions[identifier]?.state = state
        record.monitors[monitor]?.conditions[identifier]?.isPending = true
        record.monitors[monitor]?.conditions[identifier]?.next = nil
        record.monitors[monitor]?.conditions[identifier]?.nextSince = nil
    }
}
