import Records

/// The events of `push`: what became of each notification. Source: `push`.
public enum PushEvent: EventFamily {
    case deviceNoted(DeviceNoted)
    case deviceDropped(DeviceDropped)
    case conditionsNoted(ConditionsNoted)
    case appNoted(AppNoted)
    case appDropped(AppDropped)
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

    public static let catalogue: [EventKind<PushEvent>] = [
        EventKind(PushEvent.deviceNoted),
        EventKind(PushEvent.deviceDropped),
        EventKind(PushEvent.conditionsNoted),
        EventKind(PushEvent.appNoted),
        EventKind(PushEvent.appDropped),
        EventKind(PushEvent.throttleChanged),
        EventKind(PushEvent.deviceConnected),
        EventKind(PushEvent.devicePolled),
        EventKind(PushEvent.deviceDisconnected),
        EventKind(PushEvent.tokenRegistered),
        EventKind(PushEvent.tokenUnregistered),
        EventKind(PushEvent.channelsChanged),
        EventKind(PushEvent.budgetChanged),
        EventKind(PushEvent.notificationReceived),
        EventKind(PushEvent.notificationDelivered),
        EventKind(PushEvent.notificationStored),
        EventKind(PushEvent.notificationHeld),
        EventKind(PushEvent.notificationReleased),
        EventKind(PushEvent.notificationReplaced),
        EventKind(PushEvent.notificationDiscarded),
        EventKind(PushEvent.notificationAcknowledged),
        EventKind(PushEvent.notificationPresented),
        EventKind(PushEvent.notificationOpened),
        EventKind(PushEvent.wakeRequested),
        EventKind(PushEvent.wakeGranted),
        EventKind(PushEvent.wakeCompleted),
        EventKind(PushEvent.wakeRefused),
        EventKind(PushEvent.wakeEnded),
    ]

    public var data: any EventData {
        switch self {
        case .deviceNoted(let data): data
        case .deviceDropped(let data): data
        case .conditionsNoted(let data): data
        case .appNoted(let data): data
        case .appDropped(let data): data
        case .throttleChanged(let data): data
        case .deviceConnected(let data): data
        case .devicePolled(let data): data
        case .deviceDisconnected(let data): data
        case .tokenRegistered(let data): data
        case .tokenUnregistered(let data): data
        case .channelsChanged(let data): data
        case .budgetChanged(let data): data
        case .notificationReceived(let data): data
        case .notificationDelivered(let data): data
        case .notificationStored(let data): data
        case .notificationHeld(let data): data
        case .notificationReleased(let data): data
        case .notificationReplaced(let data): data
        case .notificationDiscarded(let data): data
        case .notificationAcknowledged(let data): data
        case .notificationPresented(let data): data
        case .notificationOpened(let data): data
        case .wakeRequested(let data): data
        case .wakeGranted(let data): data
        case .wakeCompleted(let data): data
        case .wakeRefused(let data): data
        case .wakeEnded(let data): data
        }
    }
}
