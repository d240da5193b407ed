public import Contracts
public import Machines
public import Timeline

/// Why a command was refused. Nothing is changed then.
public enum PushRefusal: MachineRefusal, Equatable, CustomStringConvertible {
    case deviceNotRegistered
    case appNotInstalled(String)
    /// The app has no device token.
    case notRegistered(String)
    case deviceOff
    /// The device has no network to connect over.
    case noNetwork
    /// The device is not connected.
    case notConnected
    /// The device does not show it.
    case notificationNotShown(String)
    /// No device has this token in this environment.
    case badDeviceToken
    case deviceTokenNotForTopic
    /// No app of the device hears this channel.
    case notSubscribed
    /// The token is void since then.
    case unregistered(since: Instant)
    /// The token is void for longer than void tokens are told from expired ones.
    case expiredToken(since: Instant)
    /// Another service's event that can't be read.
    case unreadableEvent(ContractError)

    public var unreadable: ContractError? { if case .unreadableEvent(let error) = self { error } else { nil } }

    /// The stable word for it in error documents.
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
        case .deviceNotRegistered: "The device is not registered."
        case .appNotInstalled(let app): "The app \(app) is not installed."
        case .notRegistered(let app): "The app \(app) has no device token."
        case .deviceOff: "The device is switched off."
        case .noNetwork: "The device has no network."
        case .notConnected: "The device is not connected: it has neither a stream nor polls."
        case .notificationNotShown(let id): "The device does not show the notification \(id)."
        case .badDeviceToken: "No device has this token."
        case .deviceTokenNotForTopic: "The token belongs to another app."
        case .notSubscribed: "The app is not subscribed to this channel."
        case .unregistered(let since): "The token is void since \(since)."
        case .expiredToken(let since): "The token expired; it is void since \(since)."
        case .unreadableEvent(let error): error.description
        }
    }
}
