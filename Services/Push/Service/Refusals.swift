import Contracts
public import HTTPKit
import HTTPTypes
public import PushMachine
public import ServiceKit

extension PushRefusal: ProblemConvertible {
    /// The problem document of the device API. The provider endpoint answers with an ``APNsReason`` instead.
    public var problem: Problem {
        let status: HTTPResponse.Status
        switch self {
        case .deviceNotRegistered, .appNotInstalled: status = .notFound
        case .notRegistered, .deviceOff, .noNetwork, .notConnected, .notificationNotShown, .notSubscribed:
            status = .conflict
        case .badDeviceToken, .deviceTokenNotForTopic: status = .badRequest
        case .unregistered, .expiredToken: status = .gone
        case .unreadableEvent: status = .internalServerError
        }
        return Problem(status, code, title).with(detail: description)
    }

    private var title: String {
        switch self {
        case .deviceNotRegistered: "Device is not registered"
        case .appNotInstalled: "App is not installed"
        case .notRegistered: "App has no device token"
        case .deviceOff: "Device is switched off"
        case .noNetwork: "Device has no network"
        case .notConnected: "Device is not connected"
        case .notificationNotShown: "Notification is not shown"
        case .badDeviceToken: "Device token is unknown"
        case .deviceTokenNotForTopic: "Device token belongs to another app"
        case .notSubscribed: "App is not subscribed to the channel"
        case .unregistered: "Device token is inactive"
        case .expiredToken: "Device token is expired"
        case .unreadableEvent: "Event is unreadable"
        }
    }
}

extension PushMachine: FleetMember {}
