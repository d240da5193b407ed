import Records

/// The events of `fetch`: when background refreshes happen, and why not yet. Source: `fetch`.
public enum FetchEvent: EventFamily {
    case deviceDescribed(DeviceDescribed)
    case deviceForgotten(DeviceForgotten)
    case conditionsChanged(ConditionsChanged)
    case appChanged(AppChanged)
    case appOpened(AppOpened)
    case appForgotten(AppForgotten)
    case intervalSet(IntervalSet)
    case refreshScheduled(RefreshScheduled)
    case refreshDue(RefreshDue)
    case refreshStarted(RefreshStarted)
    case refreshRecorded(RefreshRecorded)
    case taskSubmitted(TaskSubmitted)
    case taskCancelled(TaskCancelled)
    case taskScheduled(TaskScheduled)
    case taskDue(TaskDue)
    case taskStarted(TaskStarted)
    case taskStopped(TaskStopped)
    case taskRecorded(TaskRecorded)
    case outageNoted(OutageNoted)

    public static let source = "fetch"

    public static let catalogue: [EventKind<FetchEvent>] = [
        EventKind(FetchEvent.deviceDescribed),
        EventKind(FetchEvent.deviceForgotten),
        EventKind(FetchEvent.conditionsChanged),
        EventKind(FetchEvent.appChanged),
        EventKind(FetchEvent.appOpened),
        EventKind(FetchEvent.appForgotten),
        EventKind(FetchEvent.intervalSet),
        EventKind(FetchEvent.refreshScheduled),
        EventKind(FetchEvent.refreshDue),
        EventKind(FetchEvent.refreshStarted),
        EventKind(FetchEvent.refreshRecorded),
        EventKind(FetchEvent.taskSubmitted),
        EventKind(FetchEvent.taskCancelled),
        EventKind(FetchEvent.taskScheduled),
        EventKind(FetchEvent.taskDue),
        EventKind(FetchEvent.taskStarted),
        EventKind(FetchEvent.taskStopped),
        EventKind(FetchEvent.taskRecorded),
        EventKind(FetchEvent.outageNoted),
    ]

    public var data: any EventData {
        switch self {
        case .deviceDescribed(let data): data
        case .deviceForgotten(let data): data
        case .conditionsChanged(let data): data
        case .appChanged(let data): data
        case .appOpened(let data): data
        case .appForgotten(let data): data
        case .intervalSet(let data): data
        case .refreshScheduled(let data): data
        case .refreshDue(let data): data
        case .refreshStarted(let data): data
        case .refreshRecorded(let data): data
        case .taskSubmitted(let data): data
        case .taskCancelled(let data): data
        case .taskScheduled(let data): data
        case .taskDue(let data): data
        case .taskStarted(let data): data
        case .taskStopped(let data): data
        case .taskRecorded(let data): data
        case .outageNoted(let data): data
        }
    }
}
