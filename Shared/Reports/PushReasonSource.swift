public import Contracts
public import Records

/// The way in which an event explains what happened to a notification.
public enum PushReasonKind: String, WireEnum {
    /// The end of the app.
    case appEnd
    /// A charge to the silent budget. It names the notification whose wake it paid.
    case budget
    /// The conditions of the device: power, lock, Low Power Mode.
    case conditions
    /// The end of the connection of the device.
    case disconnection
    /// The refusal of the wake.
    case refusal
    /// The newer notification.
    case replacement
    /// The state of the app, and whether it may show and handle notifications.
    case settings
    /// The wait before: stored or held.
    case wait
}

/// The place of an event that explains another one.
public enum PushReasonSource: Equatable, Sendable {
    /// The cause of the event.
    case cause(PushReasonKind)
    /// The latest event of a type about the device or, with `app`, about its app.
    case latest(PushReasonKind, type: String, app: String?)
    /// The latest charges to the silent budget of an app.
    case charges(app: String?)
    /// The receipt of a newer notification.
    case received(notification: String)
    /// The wait of a notification, and the reasons of the wait.
    case wait(notification: String)
}

extension PushEvent {
    /// The places of the events that explain this one; none if its cause says enough.
    public var reasonSources: [PushReasonSource] {
        switch self {
        case .notificationStored(let event): [event.status == .storedPower ? .conditions : .disconnection]
        case .notificationHeld(let event):
            switch event.status {
            case .heldLowPower: [.conditions]
            case .heldRefused: [.cause(.refusal)]
            case .heldSummary: [.settings(of: event.app)]
            // Without an end of the wait, the user has not opened the app for too long.
            default: event.until == nil ? [.settings(of: event.app)] : [.charges(app: event.app)]
            }
        case .notificationDiscarded(let event): event.reasonSources
        case .notificationReplaced(let event): [.received(notification: event.by)]
        case .notificationDelivered(let event):
            (event.fromStorage ? [.wait(notification: event.notification)] : []) + event.quietSources
        case .notificationReleased(let event): [.wait(notification: event.notification)]
        default: []
        }
    }
}

extension PushEvent.NotificationDelivered {
    /// The place of the event that explains why an alert is quiet. The payload explains a passive one.
    fileprivate var quietSources: [PushReasonSource] {
        switch quietCause {
        case .doNotDisturb, .focus: [.conditions]
        case .provisional, .summary: [.settings(of: app)]
        case .passive, nil: []
        }
    }
}

extension PushEvent.NotificationDiscarded {
    fileprivate var reasonSources: [PushReasonSource] {
        switch status {
        case .discardedExpired, .discardedStorageFull: [.wait(notification: notification)]
        case .discardedDisabled, .discardedNotAuthorized: [.settings(of: app)]
        case .discardedAppKilled: [.cause(.appEnd)]
        case .discardedNotWoken:
            refusal == .modeNotDeclared || refusal == .unsupportedOnProfile
                ? [.settings(of: app)] : [.cause(.refusal)]
        default: []
        }
    }
}

extension PushReasonSource {
    /// The charges that explain a spent budget: an app may have three wakes at once.
    public static let mostCharges = 3

    fileprivate static let conditions = latest(.conditions, type: PushEvent.ConditionsChanged.type, app: nil)
    fileprivate static let disconnection = latest(.disconnection, type: PushEvent.DeviceDisconnected.type, app: nil)

    fileprivate static func settings(of app: String?) -> PushReasonSource {
        latest(.settings, type: PushEvent.AppUpdated.type, app: app)
    }
}
