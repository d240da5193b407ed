import Contracts
import HTTPKit
import Hummingbird
import Machines
import OrderedCollections
import Records
import Timeline
import TransferMachine

/// The reports: why transfers do not move, and the events of a task.
struct ReportRoutes: Sendable {
    let routes: TransferRoutes
    let store: TransferStore
    let clock: any SuiteClock
    let policy: TransferPolicy

    func add(to table: inout RouteTable) {
        table.add(
            .get, "/v1/devices/{device}/apps/{app}/explain",
            "The reasons why tasks of an app do not move, and why its sessions do not wake it",
            response: Explanation.self, problems: .ofApp()
        ) { request, context in
            let app = try context.parameters.identifier("app")
            let (state, _) = try await routes.read(request, context)
            guard let view = state.apps[app] else { throw TransferRefusal.appNotInstalled(app).problem }
            // No ETag, because the answer changes with time alone.
            return Response(Explanation(app, view, state, at: clock.now, policy))
        }
        table.add(
            .get, TransferRoutes.sessions + "/{identifier}/tasks/{task}/timeline",
            "The events of a task, newest first",
            parameters: [
                .number("limit", 1...500, "The largest number of events (100)"),
                .number("cursor", 1...Int.max, "The `next` of the former answer"),
            ], response: TimelineDocument.self, problems: .ofDevice() + [.invalidQuery]
        ) { request, context in
            let limit = try request.query("limit", in: 1...500, default: 100)
            let cursor = try request.query("cursor", in: 1...Int.max, default: .max)
            let taskKey = try routes.taskKey(context)
            // Refuses a caller without access to the device.
            _ = try await routes.read(request, context)
            let key = AggregateKey.device(try context.parameters.identifier("device"))
            return Response(try await store.timeline(of: taskKey, key, before: cursor, limit: limit))
        }
    }
}
