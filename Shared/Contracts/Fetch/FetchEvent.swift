import Records

/// The events of `fetch`: the times of background refreshes and the reasons why they wait. Source: `fetch`.
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
}
