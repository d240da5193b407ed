import Contracts
import HTTPKit
import HTTPTypes
import Hummingbird
import LifecycleCore
import Machines
import OrderedCollections
import Records
import ServiceKit

// Activities, and actions of an app's code.
extension LifecycleRoutes {
    func addActivities(_ table: inout RouteTable) {
        let path = "/v1/devices/{device}/apps/{app}"
        let activity = path + "/activities/{kind}"
        let kind = RouteParameter.word("kind", ActivityKind.self, "The kind of activity")
        table.add(
            .post, activity, "Starts an activity of an app, such as audio", body: ActivityRequest.self,
            .parameters(kind), .checks { _ = try activityKind($0) },
            .refuses(
                .ofCode(
                    .locationDenied, .locationNotInUse, .activityNotAllowed(.audio), .unsupported(.newsstand, on: .ios9)
                ))
        ) { request, call in
            try await app(after: .startActivity(app: call.app, activityKind(call), request), call)
        }
        table.add(
            .delete, activity, "Stops an activity; the system suspends the app if nothing else keeps it running",
            .parameters(kind), .refuses(.ofCode())
        ) { call in
            let kind = try activityKind(call)
            return try await commands.submit(.stopActivity(app: call.app, kind), call)
        }
        table.add(
            .post, path + "/actions", "Reports an action of the app's code that can end the app or that the user sees",
            body: ActionReport.self, .refuses(.ofCode())
        ) { report, call in try await app(after: .act(app: call.app, report), call) }
    }

    private func activityKind(_ call: Call) throws(Problem) -> ActivityKind {
        let name = try call.identifier("kind")
        guard let kind = ActivityKind(rawValue: name) else {
            let kinds = ActivityKind.allCases.map(\.rawValue).joined(separator: ", ")
            throw .notFound.with(detail: "There is no activity \"\(name)\". The activities are \(kinds).")
        }
        return kind
    }
}
