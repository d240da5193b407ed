import Contracts
import Records

extension PushEvent: OrderGiver {
    static let orderTypes: Set<String> = [TokenRegistered.type]

    /// Notifications are not orders: `push` streams them. `lifecycle` gives the orders for their wakes.
    var told: Told? {
        guard case .tokenRegistered(let event) = self else { return nil }
        return Told(
            ["didRegisterForRemoteNotificationsWithDeviceToken"],
            [.init("environment", .string(event.environment.rawValue)), .init("token", .string(event.token))])
    }
}
