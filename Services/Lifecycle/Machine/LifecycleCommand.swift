public import Contracts

/// What devices, and the people who hold them, ask of `lifecycle`.
public enum LifecycleCommand: Sendable, Equatable {
    /// Registers a device, or describes a registered one anew.
    case register(Registration)
    case deregister
    /// Voids the tokens of the device; a new one is issued when this is in the log.
    case revokeTokens
    case updateConditions(ConditionsReport)
    case power(PowerEvent)
    /// Something draws the user's attention to the device.
    case interrupt(InterruptionKind)
    /// Installs an app, or updates an installed one to another manifest.
    case install(app: String, Manifest)
    case uninstall(app: String)
    case transition(app: String, AppTransition)
    /// A reported handler returned.
    case completeCallback(app: String, Callback, CallbackCompletion)
    case beginTask(app: String, TaskRequest)
    case endTask(app: String, task: String)
    case completeWake(app: String, wake: String, WakeCompletion)
    case startActivity(app: String, ActivityKind, ActivityRequest)
    case stopActivity(app: String, ActivityKind)
    /// The app's code did something.
    case act(app: String, ActionReport)
    case monitorRegion(app: String, region: String, Region)
    case stopMonitoringRegion(app: String, region: String)
    case monitorSignificantChanges(app: String)
    case stopMonitoringSignificantChanges(app: String)
    case changeSettings(app: String, AppSettings)
    case changeDeviceSettings(DeviceSettings)
}
