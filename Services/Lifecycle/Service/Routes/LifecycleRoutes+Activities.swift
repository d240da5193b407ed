import Contracts
import HTTPKit
import HTTPTypes
import Hummingbird
import LifecycleMachine
import Machines
import OrderedCollections
import Records

// Activities, actions of an app's code, and monitored locations.
extension LifecycleRoutes {
    func addActivities(_ table: inout RouteTable) {
        let app = "/v1/devices/{device}/apps/{app}"
        let activity = app + "/activities/{kind}"
        let kind = RouteParameter.word("kind", ActivityKind.self, "The kind of activity")
        table.add(
            .post, activity, "Starts an activity of an app, such as audio", access: .caller, parameters: [kind],
            request: ActivityRequest.self, response: AppDocument.self,
            problems: .ofCode(.locationDenied, .activityNotAllowed(.audio))
        ) { request, context in
            let kind = try activityKind(context)
            let document = try await request.document(as: ActivityRequest.self)
            return try await submit(request, context) { .startActivity(app: $0, kind, document) }
        }
        table.add(
            .delete, activity, "Stops an activity; the system suspends the app if nothing else keeps it running",
            access: .caller, parameters: [kind], status: .noContent, problems: .ofCode()
        ) { request, context in
            let kind = try activityKind(context)
            return try await submit(request, context, status: .noContent) { .stopActivity(app: $0, kind) }
        }
        table.add(
            .post, app + "/actions", "Reports an action of the app's code that can end the app or that the user sees",
            access: .caller, request: ActionReport.self, response: AppDocument.self, problems: .ofCode()
        ) { request, context in
            let report = try await request.document(as: ActionReport.self)
            return try await submit(request, context) { .act(app: $0, report) }
        }
        let region = app + "/regions/{region}"
        table.add(
            .put, region, "Starts to monitor a region; replaces a region with the same identifier", access: .caller,
            request: Region.self, response: AppDocument.self,
            problems: .ofCode(
                .unavailableOnDevice("regions need GPS"), .locationDenied,
                .regionMonitoringFailure("the app monitors 20 regions already"))
        ) { request, context in
            let identifier = try context.parameters.identifier("region")
            let document = try await request.document(as: Region.self)
            return try await submit(request, context) { .monitorRegion(app: $0, region: identifier, document) }
        }
        table.add(
            .delete, region, "Stops monitoring a region", access: .caller, status: .noContent,
            problems: .ofCode()
        ) { request, context in
            let identifier = try context.parameters.identifier("region")
            return try await submit(request, context, status: .noContent) {
                .stopMonitoringRegion(app: $0, region: identifier)
            }
        }
        let changes = app + "/significant-location-changes"
        table.add(
            .put, changes, "Starts to monitor significant location changes", access: .caller,
            response: AppDocument.self,
            problems: .ofCode(.unavailableOnDevice("significant changes need a cellular radio"), .locationDenied)
        ) { try await submit($0, $1) { .monitorSignificantChanges(app: $0) } }
        table.add(
            .delete, changes, "Stops monitoring significant location changes", access: .caller, status: .noContent,
            problems: .ofCode()
        ) { try await submit($0, $1, status: .noContent) { .stopMonitoringSignificantChanges(app: $0) } }
    }

    private func activityKind(_ context: ServiceContext) throws(Problem) -> ActivityKind {
        let name = try context.parameters.identifier("kind")
        guard let kind = ActivityKind(rawValue: name) else {
            let kinds = ActivityKind.allCases.map(\.rawValue).joined(separator: ", ")
            throw .notFound.with(detail: "There is no activity \"\(name)\". The activities are \(kinds).")
        }
        return kind
    }
}
