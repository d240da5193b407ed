import Contracts
import Records

extension PushEvent: OrderGiver {
    static let orderTypes: Set<String> = [TokenRegistered.type]

    /// Notifications are not orders: `push` streams them. `lifecycle` gives the orders for their wakes.
    var orderContent: OrderContent? {
        guard case .tokenRegistered(let event) = self else { return nil }
        var data: [JSON.Member] = [
            .init("environment", .string(event.environment.rawValue)), .init("kind", .string(event.kind.rawValue)),
            .init("token", .string(event.token)),
        ]
        if let activity = event.activity { data.insert(.init("activity", .string(activity)), at: 0) }
        return OrderContent([event.kind.callback], data)
    }
}

extension TokenKind {
    /// The method or sequence by which the app gets a new token.
    fileprivate var callback: String {
        switch self {
        case .apns: "didRegisterForRemoteNotificationsWithDeviceToken"
        case .voip, .complication, .fileprovider: "didUpdatePushCredentials"
        case .location: "startMonitoringLocationPushes"
        case .liveactivity: "pushTokenUpdates"
        case .pushToStart: "pushToStartTokenUpdates"
        case .pushtotalk: "receivedEphemeralPushToken"
        case .widgets: "pushTokenDidChange"
        case .controls: "pushTokensDidChange"
        }
    }
}
