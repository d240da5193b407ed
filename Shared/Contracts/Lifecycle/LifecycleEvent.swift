/// The events of `lifecycle`: who may run, for how long, and why. Source: `lifecycle`.
public enum LifecycleEvent: EventFamily {
    case deviceRegistered(DeviceRegistered)
    case deviceUpdated(DeviceUpdated)
    case deviceDeregistered(DeviceDeregistered)
    case deviceRevoked(DeviceRevoked)
    case devicePowered(DevicePowered)
    case deviceAwoke(DeviceAwoke)
    case deviceSlept(DeviceSlept)
    case deviceInterrupted(DeviceInterrupted)
    case conditionsChanged(ConditionsChanged)
    case settingsChanged(SettingsChanged)
    case backgroundRefreshChanged(BackgroundRefreshChanged)
    case appInstalled(AppInstalled)
    case appUninstalled(AppUninstalled)
    case appPrewarmed(AppPrewarmed)
    case appLaunched(AppLaunched)
    case appActivated(AppActivated)
    case appResigned(AppResigned)
    case appBackgrounded(AppBackgrounded)
    case appSuspended(AppSuspended)
    case appWoken(AppWoken)
    case appTerminating(AppTerminating)
    case appTerminated(AppTerminated)
    case callbackCompleted(CallbackCompleted)
    case taskBegun(TaskBegun)
    case taskEnded(TaskEnded)
    case taskExpiring(TaskExpiring)
    case wakeCompleted(WakeCompleted)
    case wakeRefused(WakeRefused)
    case activityStarted(ActivityStarted)
    case activityStopped(ActivityStopped)
    case actionReported(ActionReported)
    case regionMonitored(RegionMonitored)
    case regionUnmonitored(RegionUnmonitored)
    case regionCrossed(RegionCrossed)
    case significantChangesMonitored(SignificantChangesMonitored)
    case significantChangesUnmonitored(SignificantChangesUnmonitored)
    case significantChangeReported(SignificantChangeReported)
    case notificationResponded(NotificationResponded)
    case wakeExpiring(WakeExpiring)
    case wakeExpired(WakeExpired)
    case outageNoted(OutageNoted)

    public static let source = "lifecycle"

    public static let catalogue: [EventKind<LifecycleEvent>] = [
        EventKind(LifecycleEvent.deviceRegistered),
        EventKind(LifecycleEvent.deviceUpdated),
        EventKind(LifecycleEvent.deviceDeregistered),
        EventKind(LifecycleEvent.deviceRevoked),
        EventKind(LifecycleEvent.devicePowered),
        EventKind(LifecycleEvent.deviceAwoke),
        EventKind(LifecycleEvent.deviceSlept),
        EventKind(LifecycleEvent.deviceInterrupted),
        EventKind(LifecycleEvent.conditionsChanged),
        EventKind(LifecycleEvent.settingsChanged),
        EventKind(LifecycleEvent.backgroundRefreshChanged),
        EventKind(LifecycleEvent.appInstalled),
        EventKind(LifecycleEvent.appUninstalled),
        EventKind(LifecycleEvent.appPrewarmed),
        EventKind(LifecycleEvent.appLaunched),
        EventKind(LifecycleEvent.appActivated),
        EventKind(LifecycleEvent.appResigned),
        EventKind(LifecycleEvent.appBackgrounded),
        EventKind(LifecycleEvent.appSuspended),
        EventKind(LifecycleEvent.appWoken),
        EventKind(LifecycleEvent.appTerminating),
        EventKind(LifecycleEvent.appTerminated),
        EventKind(LifecycleEvent.callbackCompleted),
        EventKind(LifecycleEvent.taskBegun),
        EventKind(LifecycleEvent.taskEnded),
        EventKind(LifecycleEvent.taskExpiring),
        EventKind(LifecycleEvent.wakeCompleted),
        EventKind(LifecycleEvent.wakeRefused),
        EventKind(LifecycleEvent.activityStarted),
        EventKind(LifecycleEvent.activityStopped),
        EventKind(LifecycleEvent.actionReported),
        EventKind(LifecycleEvent.regionMonitored),
        EventKind(LifecycleEvent.regionUnmonitored),
        EventKind(LifecycleEvent.regionCrossed),
        EventKind(LifecycleEvent.significantChangesMonitored),
        EventKind(LifecycleEvent.significantChangesUnmonitored),
        EventKind(LifecycleEvent.significantChangeReported),
        EventKind(LifecycleEvent.notificationResponded),
        EventKind(LifecycleEvent.wakeExpiring),
        EventKind(LifecycleEvent.wakeExpired),
        EventKind(LifecycleEvent.outageNoted),
    ]

    public var data: any EventData {
        switch self {
        case .deviceRegistered(let data): data
        case .deviceUpdated(let data): data
        case .deviceDeregistered(let data): data
        case .deviceRevoked(let data): data
        case .devicePowered(let data): data
        case .deviceAwoke(let data): data
        case .deviceSlept(let data): data
        case .deviceInterrupted(let data): data
        case .conditionsChanged(let data): data
        case .settingsChanged(let data): data
        case .backgroundRefreshChanged(let data): data
        case .appInstalled(let data): data
        case .appUninstalled(let data): data
        case .appPrewarmed(let data): data
        case .appLaunched(let data): data
        case .appActivated(let data): data
        case .appResigned(let data): data
        case .appBackgrounded(let data): data
        case .appSuspended(let data): data
        case .appWoken(let data): data
        case .appTerminating(let data): data
        case .appTerminated(let data): data
        case .callbackCompleted(let data): data
        case .taskBegun(let data): data
        case .taskEnded(let data): data
        case .taskExpiring(let data): data
        case .wakeCompleted(let data): data
        case .wakeRefused(let data): data
        case .activityStarted(let data): data
        case .activityStopped(let data): data
        case .actionReported(let data): data
        case .regionMonitored(let data): data
        case .regionUnmonitored(let data): data
        case .regionCrossed(let data): data
        case .significantChangesMonitored(let data): data
        case .significantChangesUnmonitored(let data): data
        case .significantChangeReported(let data): data
        case .notificationResponded(let data): data
        case .wakeExpiring(let data): data
        case .wakeExpired(let data): data
        case .outageNoted(let data): data
        }
    }
}
