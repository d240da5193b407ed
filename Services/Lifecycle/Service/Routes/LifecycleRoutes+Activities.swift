import Contracts
import HTTPKit
import HTTPTypes
import Hummingbird
import LifecycleCore
import Machines
import OrderedCollections
import Records
import ServiceKit

// Activities, actions of an app's code, and monitored locations.
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
        let region = path + "/regions/{region}"
        table.add(
            .put, region, "Starts to monitor a region; replaces a region with the same identifier", body: Region.self,
            .refuses(
                .ofCode(
                    .unavailableOnDevice("regions need GPS"), .locationDenied,
                    .regionMonitoringFailure("the app monitors 20 regions already")))
        ) { region, call in
            try await app(
                after: .monitorRegion(app: call.app, region: call.identifier("region"), region), call)
        }
        table.add(.delete, region, "Stops monitoring a region", .refuses(.ofCode())) { call in
            let region = try call.identifier("region")
            return try await commands.submit(.stopMonitoringRegion(app: call.app, region: region), call)
        }
        let changes = path + "/significant-location-changes"
        table.add(
            .put, changes, "Starts to monitor significant location changes",
            .refuses(.ofCode(.unavailableOnDevice("significant changes need a cellular radio"), .locationDenied))
        ) { call in try await app(after: .monitorSignificantChanges(app: call.app), call) }
        table.add(
            .delete, changes, "Stops monitoring significant location changes", .refuses(.ofCode())
        ) { call in try await commands.submit(.stopMonitoringSignificantChanges(app: call.app), call) }
        let visits = path + "/visits"
        table.add(
            .put, visits, "Starts to monitor visits",
            .refuses(.ofCode(.unsupported(.visits, on: .ios7), .locationDenied))
        ) { call in try await app(after: .monitorVisits(app: call.app), call) }
        table.add(.delete, visits, "Stops monitoring visits", .refuses(.ofCode())) { call in
            try await commands.submit(.stopMonitoringVisits(app: call.app), call)
        }
        table.add(
            .post, "/v1/devices/{device}/visits", "Reports that the user arrived at a place or left it",
            body: VisitReport.self, .refuses(.ofDevice(.deviceOff, .unsupported(.visits, on: .ios7)))
        ) { report, call in try await device(after: .visit(report.kind), call) }
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
