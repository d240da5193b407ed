public import Contracts

/// A fact about a device or one of its apps that `lifecycle` decides and other services use.
///
/// This is the only place that decides which events of `lifecycle` matter to other services. A machine handles each fact in
/// an exhaustive switch.
public enum DeviceFact: Sendable, Equatable {
    /// The device was registered, or its registration changed.
    case registration(Registration)
    /// The device was deregistered.
    case removal
    /// The history of the deregistered device is to be erased.
    case erasure
    /// A client began or ceased to answer for a built-in device.
    case client(isThere: Bool)
    /// The device was switched on, restarted or switched off.
    case power(isOn: Bool)
    /// Some conditions changed. A missing member did not change.
    case conditions(Conditions)
    /// The settings of an app, or of the whole device if `app` is nil.
    case settings(Settings, app: String?)
    /// An app was installed or updated to a new manifest.
    case installation(Manifest, app: String)
    case uninstallation(app: String)
    /// The user launched an app or returned to it.
    case opening(AppState, app: String)
    /// An app has a new state without an opening, a wake or the end of its process.
    case transition(AppState, app: String)
    /// The process of an app ended, or the user removed an app that did not run from the app switcher.
    case termination(LifecycleEvent.AppTerminated, app: String)
    case wake(LifecycleEvent.AppWoken, app: String)
    case wakeCompletion(LifecycleEvent.WakeCompleted, app: String)
    case wakeRefusal(LifecycleEvent.WakeRefused, app: String)
    /// The time of a wake that needs no completion ended.
    case wakeExpiration(LifecycleEvent.WakeExpired, app: String)

    /// The types of the events that every service needs. ``Machine/follows`` adds the others that matter to its rules.
    public static let types: Set<String> = [
        LifecycleEvent.DeviceRegistered.type, LifecycleEvent.DeviceUpdated.type, LifecycleEvent.DeviceDeregistered.type,
        LifecycleEvent.DevicePowered.type, LifecycleEvent.ConditionsChanged.type, LifecycleEvent.AppInstalled.type,
        LifecycleEvent.AppUninstalled.type, LifecycleEvent.AppLaunched.type, LifecycleEvent.AppActivated.type,
        LifecycleEvent.AppBackgrounded.type, LifecycleEvent.AppTerminated.type, LifecycleEvent.AppWoken.type,
        LifecycleEvent.WakeCompleted.type, LifecycleEvent.WakeRefused.type,
    ]

    /// Reads an event of `lifecycle`.
    ///
    /// - Parameters:
    ///   - isRegistered: Whether the machine knows the device. An unknown device has no facts except its registration
    ///     and its erasure.
    ///   - refusal: Makes the refusal of an event that can't be read.
    /// - Returns: the fact; nil if the event does not matter.
    public static func read<Refusal: MachineRefusal>(
        _ event: Event, isRegistered: Bool, orThrow refusal: (ContractError) -> Refusal
    ) throws(Refusal) -> DeviceFact? {
        let fact: DeviceFact?
        do throws(ContractError) {
            fact = try LifecycleEvent(event).fact
        } catch {
            throw refusal(error)
        }
        switch fact {
        case .registration, .erasure: return fact
        default: return isRegistered ? fact : nil
        }
    }
}

extension LifecycleEvent {
    fileprivate var fact: DeviceFact? {
        switch self {
        case .deviceRegistered(let event): .registration(event.registration)
        case .deviceUpdated(let event): .registration(event.registration)
        case .deviceDeregistered: .removal
        case .deviceErased: .erasure
        case .deviceTakenOver: .client(isThere: true)
        case .deviceGivenBack: .client(isThere: false)
        case .devicePowered(let event): .power(isOn: event.power != .off)
        case .conditionsChanged(let event): .conditions(event.conditions)
        case .settingsChanged(let event): .settings(event.settings, app: event.app)
        case .appInstalled(let event): event.app.map { .installation(event.manifest, app: $0) }
        case .appUninstalled(let event): event.app.map { .uninstallation(app: $0) }
        case .appLaunched(let event): event.app.map { .opening(event.state, app: $0) }
        case .appActivated(let event): event.app.map { .opening(event.state, app: $0) }
        case .appResigned(let event): event.app.map { .transition(event.state, app: $0) }
        // The state between two events of one decision has no effect. The suspension is a fact of its own.
        case .appBackgrounded(let event):
            event.suspends == true ? nil : event.app.map { .transition(event.state, app: $0) }
        case .appSuspended(let event): event.app.map { .transition(event.state, app: $0) }
        case .appTerminated(let event): event.app.map { .termination(event, app: $0) }
        case .appWoken(let event): event.app.map { .wake(event, app: $0) }
        case .wakeCompleted(let event): event.app.map { .wakeCompletion(event, app: $0) }
        case .wakeRefused(let event): event.app.map { .wakeRefusal(event, app: $0) }
        case .wakeExpired(let event): event.app.map { .wakeExpiration(event, app: $0) }
        case .deviceRevoked, .deviceAwoke, .deviceSlept, .deviceInterrupted,
            .backgroundRefreshChanged, .appPrewarmed,
            .appTerminating, .callbackCompleted, .taskBegun, .taskEnded, .taskExpiring, .activityStarted,
            .activityStopped, .actionReported, .regionMonitored, .beaconRegionMonitored, .regionUnmonitored,
            .regionCrossed, .regionStateDetermined, .monitorOpened, .monitorConditionAdded, .monitorConditionRemoved,
            .monitorConditionChanged, .monitorEventDelivered,
            .significantChangesMonitored, .significantChangesUnmonitored, .significantChangeReported, .visitsMonitored,
            .visitsUnmonitored, .visitReported,
            .bluetoothManagerStarted, .bluetoothManagerStopped, .bluetoothEventOccurred, .healthDeliveryEnabled,
            .healthDeliveryDisabled, .healthSampleSaved, .healthUpdateDelivered,
            .notificationAuthorizationDecided, .notificationResponded,
            .wakeProgressed, .wakeExpiring, .outageRecorded:
            nil
        }
    }
}

extension Equatable {
    /// Returns the new value of a report; nil if it equals the known one.
    package func ifChanged(from known: Self?) -> Self? { self == known ? nil : self }
}
