import Contracts
import Records

extension PushEvent: OrderGiver {
    static let orderTypes: Set<String> = [TokenRegistered.type]

    /// Notifications are no orders: `push` has a stream of its own for them. The wakes that they lead to are `lifecycle`'s.
    var told: Told? {
        guard case .tokenRegistered(let event) = self else { return nil }
        return Told(
            ["didRegisterForRemoteNotificationsWithDeviceToken"],
            [.init("environment", .string(event.environment.rawValue)), .init("token", .string(event.token))])
    }
}
