import Contracts
import HTTPKit
import HTTPTypes
import Hummingbird
import LifecycleCore
import Machines
import OrderedCollections
import Records
import ServiceKit

// The request of an app for authorization to send notifications.
extension LifecycleRoutes {
    func addNotifications(_ table: inout RouteTable) {
        table.add(
            .post, "/v1/devices/{device}/apps/{app}/authorization-requests",
            "Requests authorization for notifications, with the answer of the user; a decided request changes nothing",
            body: AuthorizationRequest.self,
            .refuses(
                .ofCode(
                    .answerMissing, .entitlementMissing(.criticalAlerts),
                    .unsupported(.provisionalAuthorization, on: .ios9)))
        ) { request, call in
            let app = try call.app
            return try await commands.submit(.requestAuthorization(app: app, request), call) { aggregate, _ in
                AuthorizationDocument(app, aggregate)
            }
        }
    }
}

/// The result of a request for authorization: the arguments of its completion handler, and the settings of the app.
struct AuthorizationDocument: Record {
    /// Whether the app is authorized.
    var granted = false
    var notifications = NotificationSettings()
    /// The version of the device: the number of its events.
    var version = 0

    init(_ app: String, _ aggregate: Aggregate<LifecycleMachine>) {
        notifications = aggregate.state.apps[app]?.notifications ?? NotificationSettings()
        granted = notifications.authorization.allows
        version = aggregate.eventCount
    }
}
