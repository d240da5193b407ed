import Records

/// The events of `push`: the path of each notification. Source: `push`.
public enum PushEvent: EventFamily {
    case deviceUpdated(DeviceUpdated)
    case deviceErased(DeviceErased)
    case deviceRemoved(DeviceRemoved)
    case conditionsChanged(ConditionsChanged)
    case appUpdated(AppUpdated)
    case presenceChanged(PresenceChanged)
    case appRemoved(AppRemoved)
    case throttleChanged(ThrottleChanged)
    case deviceConnected(DeviceConnected)
    case devicePolled(DevicePolled)
    case deviceDisconnected(DeviceDisconnected)
    case tokenRegistered(TokenRegistered)
    case tokenUnregistered(TokenUnregistered)
    case channelsChanged(ChannelsChanged)
    case categoriesChanged(CategoriesChanged)
    case budgetChanged(BudgetChanged)
    case notificationReceived(NotificationReceived)
    case notificationDelivered(NotificationDelivered)
    case notificationStored(NotificationStored)
    case notificationHeld(NotificationHeld)
    case notificationReleased(NotificationReleased)
    case notificationReplaced(NotificationReplaced)
    case notificationDiscarded(NotificationDiscarded)
    case notificationRefused(NotificationRefused)
    case notificationAcknowledged(NotificationAcknowledged)
    case notificationPresented(NotificationPresented)
    case notificationOpened(NotificationOpened)
    case notificationResponded(NotificationResponded)
    case notificationDismissed(NotificationDismissed)
    case notificationModified(NotificationModified)
    case notificationUnmodified(NotificationUnmodified)
    case liveActivityStarted(LiveActivityStarted)
    case liveActivityUpdated(LiveActivityUpdated)
    case liveActivityStale(LiveActivityStale)
    case liveActivityEnded(LiveActivityEnded)
    case liveActivityDismissed(LiveActivityDismissed)
    case wakeRequested(WakeRequested)
    case wakeGranted(WakeGranted)
    case wakeCompleted(WakeCompleted)
    case wakeRefused(WakeRefused)
    case wakeEnded(WakeEnded)

    public static let source = "push"
}

extension PushEvent {
    /// The line of this event in the timeline of its notification; nil if the event has no line.
    public var status: NotificationStatus? {
        switch self {
        case .notificationReceived(let event): NotificationStatus(event.notification, event.status)
        case .notificationDelivered(let event):
            NotificationStatus(
                event.notification, event.status, until: event.summaryAt,
                cause: event.willPresent ? "willPresent" : event.quietCause?.rawValue, arrives: event.arrived)
        case .notificationStored(let event):
            NotificationStatus(event.notification, event.status, until: event.due ?? event.until)
        case .notificationHeld(let event): NotificationStatus(event.notification, event.status, until: event.until)
        case .notificationReleased(let event): NotificationStatus(event.notification, event.status)
        case .notificationReplaced(let event): NotificationStatus(event.notification, event.status, cause: event.by)
        case .notificationDiscarded(let event):
            NotificationStatus(
                event.notification, event.status, cause: event.refusal?.rawValue ?? event.end?.rawValue)
        case .notificationRefused(let event): NotificationStatus(event.notification, event.status)
        case .notificationAcknowledged(let event):
            NotificationStatus(event.notification, event.status, arrives: event.arrived)
        case .notificationPresented(let event):
            NotificationStatus(event.notification, event.status, cause: event.cause.rawValue, arrives: true)
        case .notificationOpened(let event):
            NotificationStatus(event.notification, event.status, cause: event.actionIdentifier)
        case .notificationResponded(let event):
            NotificationStatus(event.notification, event.status, cause: event.actionIdentifier)
        case .notificationDismissed(let event): NotificationStatus(event.notification, event.status)
        case .notificationModified(let event):
            NotificationStatus(
                event.notification, event.status, cause: event.content.changes.joined(separator: ", "),
                arrives: event.willPresent)
        case .notificationUnmodified(let event):
            NotificationStatus(
                event.notification, event.status, cause: event.cause.rawValue, arrives: event.willPresent)
        case .wakeRequested(let event): NotificationStatus(event.notification, .wakeRequested)
        case .wakeGranted(let event):
            NotificationStatus(event.notification, event.status, arrives: event.arrived)
        case .wakeCompleted(let event):
            NotificationStatus(event.notification, event.status, cause: event.result?.rawValue)
        case .wakeRefused(let event):
            NotificationStatus(
                event.notification, event.status, cause: event.refusal.rawValue, arrives: event.arrived)
        case .wakeEnded(let event): NotificationStatus(event.notification, event.status)
        case .deviceUpdated, .deviceErased, .deviceRemoved, .conditionsChanged, .appUpdated,
            .presenceChanged, .appRemoved, .throttleChanged, .deviceConnected, .devicePolled, .deviceDisconnected,
            .tokenRegistered,
            .tokenUnregistered, .channelsChanged, .categoriesChanged, .budgetChanged, .liveActivityStarted,
            .liveActivityUpdated, .liveActivityStale, .liveActivityEnded, .liveActivityDismissed:
            nil
        }
    }
}
