import Contracts
import Machines
import OrderedCollections
import Timeline

// Core Bluetooth: a manager of an app waits for events in a role, and each event wakes the app for about 10 s (Apple,
// "Core Bluetooth Background Processing for iOS Apps"). A manager with a restoration identifier outlives the process, so
// the system launches the app for its events, but not after a force quit (Apple, TN3115). While a wake of a role is open,
// the next events of the role are callbacks in it.
extension Decision<LifecycleMachine> {
    mutating func startBluetooth(
        _ app: String, _ role: BluetoothRole, _ manager: BluetoothManager
    ) throws(LifecycleRefusal) {
        let record = try running(app)
        if manager.restoreIdentifier != nil { try require(.bluetoothRestoration) }
        guard record.bluetooth[role.rawValue] != manager else { return }
        emit(.bluetoothManagerStarted(.init(app: app, manager: manager, role: role)))
    }

    /// Stopping a manager that does not wait does nothing.
    mutating func stopBluetooth(_ app: String, _ role: BluetoothRole) throws(LifecycleRefusal) {
        guard try running(app).bluetooth[role.rawValue] != nil else { return }
        emit(.bluetoothManagerStopped(.init(app: app, role: role)))
    }

    /// Calls the app on screen or in an open wake of the role. Otherwise wakes it; a relaunched app first restores its
    /// manager.
    mutating func bluetooth(_ app: String, _ event: BluetoothEvent) throws(LifecycleRefusal) {
        let record = try installed(app)
        guard state.isPoweredOn else { throw .deviceOff }
        guard state.conditions.bluetooth != .off else { throw .bluetoothOff }
        guard record.bluetooth[event.role.rawValue] != nil else { throw .bluetoothNotAwaited(event.role) }
        let isCalled = record.state.isForeground || takesEvents(app, of: event.role.wake)
        let callbacks = isCalled ? [event.callback] : []
        emit(.bluetoothEventOccurred(.init(app: app, callbacks: callbacks, event: event)))
        guard callbacks.isEmpty else { return }
        let restoring: [Callback] = record.state == .notRunning ? [.willRestoreState] : []
        wake(app, for: event.role.wake, request: nil, handlers: restoring + [event.callback])
    }

    /// Before iOS 11, a restart ends the managers (Apple, QA1962).
    mutating func forgetBluetooth() {
        guard !profile.has(.bluetoothAfterRestart) else { return }
        for (app, record) in state.apps {
            for name in record.bluetooth.keys {
                guard let role = BluetoothRole(rawValue: name) else { continue }
                emit(.bluetoothManagerStopped(.init(app: app, role: role)))
            }
        }
    }
}

extension BluetoothRole {
    fileprivate var wake: WakeKind {
        switch self {
        case .central: .bluetoothCentral
        case .peripheral: .bluetoothPeripheral
        }
    }
}

extension InstalledApp {
    /// Removes the managers that the system does not restore.
    mutating func endBluetooth() { bluetooth.removeAll { $0.value.restoreIdentifier == nil } }
}
