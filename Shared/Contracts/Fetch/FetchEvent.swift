import Records

/// The events of `fetch`: the times of background refreshes and the reasons why they wait. Source: `fetch`.
public enum FetchEvent: EventFamily {
    case deviceUpdated(DeviceUpdated)
    case deviceRemoved(DeviceRemoved)
    case conditionsChanged(ConditionsChanged)
    case appUpdated(AppUpdated)
    case appOpened(AppOpened)
    case appRemoved(AppRemoved)
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
    case outageRecorded(OutageRecorded)

    public static let source = "fetch"
}
