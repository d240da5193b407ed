import Contracts
import HTTPTypes
public import PushMachine
public import ServiceKit

/// How the machine's refusals look over HTTP. Exhaustive; providers are told of theirs by the provider endpoint.
extension PushRefusal: ProblemConvertible {
    public var problem: Problem {
        let status: HTTPResponse.Status
        switch self {
        case .deviceNotRegistered, .appNotInstalled: status = .notFound
        case .notRegistered, .deviceOff, .noNetwork, .notConnected, .notSubscribed, .notificationNotShown:
            status = .conflict
        case .badDeviceToken, .deviceTokenNotForTopic: status = .badRequest
        case .unregistered, .expiredToken: status = .gone
        case .unreadableEvent: status = .internalServerError
        }
        return Problem(status, code, "push refuses this").because(description)
    }
}

extension PushMachine: FleetMember {}
