import HTTPKit
import Hummingbird
import Identity
import LifecycleCore
import Machines
import NIOHTTP1
import Records
import ServiceKit

/// Predictions about an app. `ops` forwards each request to the service that knows the answer, with the same credential.
///
/// Only the service knows its settings, so `ops` does not compute these documents from the log.
struct OutlookRoutes: Sendable {
    private static let app = "/v1/devices/{device}/apps/{app}"
    /// The refusals of the services.
    private static let unknown = [LifecycleRefusal.deviceNotRegistered, .appNotInstalled("…")].map(\.problem)
    let services: ParkedRoutes

    func add(to table: inout RouteTable) {
        let documents = [
            ("fetch", "forecast", "Returns the forecast of the next refresh of an app, from `fetch`"),
            ("push", "explain", "Returns the budget of an app and a forecast of a push of each type, from `push`"),
        ]
        for (service, name, summary) in documents {
            table.add(
                .get, Self.app + "/" + name, summary, .scope(.read), .answers(JSON.self),
                .refuses([.notFound, .serviceUnreachable, .orderUnderWay] + Self.unknown)
            ) { call in
                let (device, app) = (try call.identifier("device"), try call.identifier("app"))
                return try await services.forward(
                    call, .GET, to: service, "/v1/devices/\(device)/apps/\(app)/\(name)")
            }
        }
    }
}
