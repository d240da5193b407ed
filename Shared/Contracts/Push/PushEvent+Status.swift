extension PushEvent {
    /// The line of this event in the timeline of its notification; nil if the event has no line.
    public var status: NotificationStatus? {
        switch self {
        case .notificationReceived(let event): NotificationStatus(event.notification, event.status)
        case .notificationDelivered(let event): NotificationStatus(event.notification, event.status)
        case .notificationStored(let event):
            NotificationStatus(event.notification, event.status, until: event.due ?? event.until)
        case .notificationHeld(let event): NotificationStatus(event.notification, event.status, until: event.until)
        case .notificationReleased(let event): NotificationStatus(event.notification, event.status)
        case .notificationReplaced(let event): NotificationStatus(event.notification, event.status, cause: event.by)
        case .notificationDiscarded(let event):
            NotificationStatus(event.notification, event.status, cause: event.refusal?.rawValue)
        case .notificationAcknowledged(let event): NotificationStatus(event.notification, event.status)
        case .notificationPresented(let event):
            NotificationStatus(event.notification, event.status, cause: event.cause.rawValue)
        case .notificationOpened(let event): NotificationStatus(event.notification, event.status)
        case .wakeRequested(let event): NotificationStatus(event.notification, .wakeRequested)
        case .wakeGranted(let event): NotificationStatus(event.notification, event.status)
        case .wakeCompleted(let event):
            NotificationStatus(event.notification, event.status, cause: event.result?.rawValue)
        case .wakeRefused(let event):
            NotificationStatus(event.notification, event.status, cause: event.refusal.rawValue)
        case .wakeEnded(let event): NotificationStatus(event.notification, event.status)
        case .deviceUpdated, .deviceRemoved, .conditionsChanged, .appUpdated, .appRemoved, .throttleChanged,
            .deviceConnected, .devicePolled, .deviceDisconnected, .tokenRegistered, .tokenUnregistered,
            .channelsChanged, .budgetChanged:
            nil
        }
    }
}
