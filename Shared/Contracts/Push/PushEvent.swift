import Records

/// The events of `push`: the path of each notification. Source: `push`.
public enum PushEvent: EventFamily {
    case deviceUpdated(DeviceUpdated)
    case deviceRemoved(DeviceRemoved)
    case conditionsChanged(ConditionsChanged)
    case appUpdated(AppUpdated)
    case appRemoved(AppRemoved)
    case throttleChanged(ThrottleChanged)
    case deviceConnected(DeviceConnected)
    case devicePolled(DevicePolled)
    case deviceDisconnected(DeviceDisconnected)
    case tokenRegistered(TokenRegistered)
    case tokenUnregistered(TokenUnregistered)
    case channelsChanged(ChannelsChanged)
    case budgetChanged(BudgetChanged)
    case notificationReceived(NotificationReceived)
    case notificationDelivered(NotificationDelivered)
    case notificationStored(NotificationStored)
    case notificationHeld(NotificationHeld)
    case notificationReleased(NotificationReleased)
    case notificationReplaced(NotificationReplaced)
    case notificationDiscarded(NotificationDiscarded)
    case notificationAcknowledged(NotificationAcknowledged)
    case notificationPresented(NotificationPresented)
    case notificationOpened(NotificationOpened)
    case wakeRequested(WakeRequested)
    case wakeGranted(WakeGranted)
    case wakeCompleted(WakeCompleted)
    case wakeRefused(WakeRefused)
    case wakeEnded(WakeEnded)

    public static let source = "push"
}
