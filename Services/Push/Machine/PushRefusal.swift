public import Contracts
public import Machines
public import Timeline

/// A reason why the machine refuses a command. A refused command changes nothing.
public enum PushRefusal: MachineRefusal, Equatable, CustomStringConvertible {
    /// The device is not registered at `lifecycle`.
    case deviceNotRegistered
    /// The device does not have this app.
    case appNotInstalled(String)
    /// The app has no device token.
    case notRegistered(String)
    /// The device is switched off.
    case deviceOff
    /// The device has no network to connect over.
    case noNetwork
    /// The device is not connected.
    case notConnected
    /// The device does not show this notification.
    case notificationNotShown(String)
    /// No device has this token in this environment.
    case badDeviceToken
    /// The token belongs to another app.
    case deviceTokenNotForTopic
    /// The app is not subscribed to the channel.
    case notSubscribed
    /// The token became inactive at this time.
    case unregistered(since: Instant)
    /// The token has been inactive for at least ``PushPolicy/tokenExpiry``.
    case expiredToken(since: Instant)
    /// The machine can't read an event of another service.
    case unreadableEvent(ContractError)

    /// The error of an unreadable event; nil for other refusals.
    public var unreadable: ContractError? { if case .unreadableEvent(let error) = self { error } else { nil } }

    /// The stable problem code.
    public var code: String {
        switch self {
        case .deviceNotRegistered: "device_not_registered"
        case .appNotInstalled: "app_not_installed"
        case .notRegistered: "not_registered_for_notifications"
        case .deviceOff: "device_off"
        case .noNetwork: "no_network"
        case .notConnected: "not_connected"
        case .notificationNotShown: "notification_not_shown"
        case .badDeviceToken: "bad_device_token"
        case .deviceTokenNotForTopic: "device_token_not_for_topic"
        case .notSubscribed: "not_subscribed"
        case .unregistered: "unregistered"
        case .expiredToken: "expired_token"
        case .unreadableEvent: "unreadable_event"
        }
    }

    public var description: String {
        switch self {
        case .deviceNotRegistered: "The device is not registered. Register it at lifecycle first."
        case .appNotInstalled(let app): "The app \(app) is not installed on the device."
        case .notRegistered(let app): "The app \(app) has no device token. Register the app for notifications first."
        case .deviceOff: "The device is switched off. Switch it on first."
        case .noNetwork: "The device has no network. Report one to lifecycle first."
        case .notConnected: "The device is not connected. Open a stream or poll first."
        case .notificationNotShown(let id): "The device does not show the notification \(id)."
        case .badDeviceToken: "No device has this token in this environment."
        case .deviceTokenNotForTopic: "The token belongs to another app."
        case .notSubscribed: "The app is not subscribed to this channel."
        case .unregistered(let since): "The token has been inactive since \(since)."
        case .expiredToken(let since): "The token has been inactive since \(since) and is expired."
        case .unreadableEvent(let error): error.description
        }
    }
}
