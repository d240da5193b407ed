public import Contracts

/// The commands of `lifecycle`.
public enum LifecycleCommand: Sendable, Equatable {
    /// Registers a device, or replaces its registration.
    case register(Registration)
    /// Registers a device with its apps and conditions, all or nothing.
    case setUp(DeviceSetup)
    case deregister
    /// Erases the history of the device. Deregisters it first if it is registered.
    case erase
    /// Revokes all tokens of the device. The service issues a new token after the event is in the log.
    case revokeTokens
    /// A client opened the stream of orders of the device.
    case takeOver(client: String)
    /// A client closed its stream of orders.
    case giveBack(client: String)
    case updateConditions(ConditionsReport)
    case power(PowerEvent)
    /// Interrupts the user, for example with a call.
    case interrupt(InterruptionKind)
    /// Installs an app, or updates the manifest of an installed app.
    case install(app: String, Manifest)
    case uninstall(app: String)
    case transition(app: String, AppTransition)
    /// Reports the return of a handler.
    case completeCallback(app: String, Callback, CallbackCompletion)
    case beginTask(app: String, TaskRequest)
    case endTask(app: String, task: String)
    case completeWake(app: String, wake: String, WakeCompletion)
    /// Reports the progress of a continued processing task.
    case reportProgress(app: String, wake: String, TaskProgress)
    case startActivity(app: String, ActivityKind, ActivityRequest)
    case stopActivity(app: String, ActivityKind)
    /// Reports an action of the app's code.
    case act(app: String, ActionReport)
    case monitorRegion(app: String, region: String, Region)
    case stopMonitoringRegion(app: String, region: String)
    case monitorBeaconRegion(app: String, region: String, BeaconRegion)
    case openMonitor(app: String, monitor: String)
    case addMonitorCondition(app: String, monitor: String, condition: String, MonitorCondition)
    case removeMonitorCondition(app: String, monitor: String, condition: String)
    case monitorSignificantChanges(app: String)
    case stopMonitoringSignificantChanges(app: String)
    case monitorVisits(app: String)
    case stopMonitoringVisits(app: String)
    /// Reports that the user arrived at a place or left it.
    case visit(VisitKind)
    case startBluetooth(app: String, BluetoothRole, BluetoothManager)
    case stopBluetooth(app: String, BluetoothRole)
    /// Reports an event of another Bluetooth device.
    case bluetooth(app: String, BluetoothEvent)
    case enableHealthDelivery(app: String, sampleType: String, HealthDelivery)
    case disableHealthDelivery(app: String, sampleType: String)
    /// Reports a new sample in the HealthKit store of the device.
    case saveHealthSample(sampleType: String)
    /// Requests authorization for notifications.
    case requestAuthorization(app: String, AuthorizationRequest)
    case changeSettings(app: String, AppSettings)
    case changeDeviceSettings(DeviceSettings)
}
