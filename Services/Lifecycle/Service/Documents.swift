import Contracts
import LifecycleCore
import Machines
import OrderedCollections
import Records
import Timeline

/// An event that a client reports about an app.
struct Transition: Record {
    var event = AppTransition.launch
}

/// A change of a device's power.
struct Power: Record {
    var event = PowerEvent.boot
}

/// Something that draws the user's attention.
struct Interruption: Record {
    var kind = InterruptionKind.call
}

/// An app after a command, with the callbacks that the command delivers to it, in order.
///
/// `state` is the result of the command itself. An app that leaves the screen answers `background`, with
/// `didEnterBackground` among its callbacks. If it has no work, the system suspends it right after.
struct AppDocument: Record {
    var app = ""
    var callbacks: [Callback] = []
    var state: Nullable<AppState> = nil
    /// The version of the device: the number of its events.
    var version = 0

    init(_ app: String, _ aggregate: Aggregate<LifecycleMachine>, _ events: [LifecycleEvent]) {
        let passages = events.filter { $0.data.app == app }.compactMap(\.passage)
        self.app = app
        state = passages.last { $0.state != .suspended }?.state ?? aggregate.state.apps[app]?.state
        callbacks = passages.flatMap(\.callbacks)
        version = aggregate.eventCount
    }
}

/// A device as it was registered.
struct DeviceDocument: Record {
    var device = ""
    var registration: Registration
    /// Its bearer token, shown once.
    var token: String?
    var version = 0

    init(_ device: String, _ aggregate: Aggregate<LifecycleMachine>) {
        self.device = device
        registration = aggregate.state.registration ?? Registration()
        version = aggregate.eventCount
    }
}

/// A request to erase the history of a device.
struct ErasureDocument: Record {
    var device = ""
    /// The path of the progress at `ops`.
    var progress = ""
}

/// A new token of a device, or of a whole fleet.
struct TokenDocument: Record {
    var device: String?
    var fleet: String?
    var token: String
}

/// A background task and the time that the app has left; `null` and `unlimited` in the foreground.
struct TaskDocument: Record {
    var secondsRemaining: Nullable<Interval> = nil
    var task = ""
    var unlimited = false

    init(_ begun: LifecycleEvent.TaskBegun) {
        task = begun.task
        secondsRemaining = begun.secondsRemaining
        unlimited = begun.secondsRemaining == nil
    }
}

/// `UIApplication.backgroundTimeRemaining`; `null` and `unlimited` in the foreground.
struct BackgroundTimeDocument: Record {
    var secondsRemaining: Nullable<Interval> = nil
    var unlimited = false

    init(_ app: InstalledApp, at now: Instant) {
        secondsRemaining = app.backgroundTimeRemaining(at: now)
        unlimited = secondsRemaining == nil
    }
}

/// `UIApplication.backgroundRefreshStatus`.
struct BackgroundRefreshDocument: Record {
    var status = BackgroundRefreshStatus.available

    init(_ status: BackgroundRefreshStatus) { self.status = status }
}

/// An entry of the app switcher. It shows no difference between background and suspended apps.
struct SwitcherEntry: Record {
    var app = ""
    var processAlive = false
    var snapshotLabel: Nullable<String> = nil
    var snapshotTakenAt: Nullable<Instant> = nil
}

extension Page<SwitcherEntry> {
    /// The app switcher of a device.
    init(switcher state: LifecycleMachine) {
        self.init(
            state.switcher.map { name in
                let app = state.apps[name]
                return SwitcherEntry(
                    app: name, processAlive: app?.isProcessAlive ?? false, snapshotLabel: app?.snapshotLabel,
                    snapshotTakenAt: app?.snapshotTakenAt)
            })
    }
}

extension LifecycleEvent {
    /// The callbacks for the app, in order, and the app's new state; nil if the event changes no app's state.
    var passage: (callbacks: [Callback], state: AppState)? {
        switch self {
        case .appLaunched(let event): (event.callbacks, event.state)
        case .appActivated(let event): (event.callbacks, event.state)
        case .appResigned(let event): (event.callbacks, event.state)
        case .appBackgrounded(let event): (event.callbacks, event.state)
        case .appSuspended(let event): (event.callbacks, event.state)
        case .appWoken(let event): (event.callbacks, event.state)
        case .appTerminating(let event): (event.callbacks, event.state)
        case .appTerminated(let event): (event.callbacks, event.state)
        case .deviceRegistered, .deviceUpdated, .deviceDeregistered, .deviceErased, .deviceRevoked, .deviceTakenOver,
            .deviceGivenBack, .devicePowered, .deviceAwoke, .deviceSlept, .deviceInterrupted,
            .conditionsChanged, .settingsChanged, .backgroundRefreshChanged,
            .appInstalled, .appUninstalled, .appPrewarmed, .callbackCompleted,
            .taskBegun, .taskEnded, .taskExpiring, .wakeProgressed, .wakeExpiring, .wakeExpired, .wakeCompleted,
            .wakeRefused,
            .activityStarted, .activityStopped, .actionReported, .regionMonitored, .beaconRegionMonitored,
            .regionUnmonitored,
            .regionCrossed, .regionStateDetermined, .monitorOpened, .monitorConditionAdded, .monitorConditionRemoved,
            .monitorConditionChanged, .monitorEventDelivered,
            .significantChangesMonitored, .significantChangesUnmonitored, .significantChangeReported,
            .bluetoothManagerStarted, .bluetoothManagerStopped, .bluetoothEventOccurred, .visitsMonitored,
            .visitsUnmonitored, .visitReported, .healthDeliveryEnabled,
            .healthDeliveryDisabled, .healthSampleSaved, .healthUpdateDelivered,
            .notificationAuthorizationDecided, .notificationResponded,
            .outageRecorded:
            nil
        }
    }
}
