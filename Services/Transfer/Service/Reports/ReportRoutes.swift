import Contracts
import Hummingbird
import OrderedCollections
import Records
import ServiceKit
import Timeline
import TransferMachine

/// Why transfers fare as they do, and what has happened to one.
struct ReportRoutes: Sendable {
    let routes: TransferRoutes
    let timeline: TaskTimeline
    let clock: any SuiteClock
    let policy: TransferPolicy

    func add(to table: inout RouteTable) {
        table.add(
            .get, "/v1/devices/{device}/apps/{app}/explain",
            "What keeps each transfer of an app from moving, and the app from being woken for it",
            response: Explanation.self, problems: .ofApp()
        ) { request, context in
            let app = try context.parameters.identifier("app")
            let (state, _) = try await routes.read(request, context)
            guard let view = state.apps[app] else { throw TransferRefusal.appNotInstalled(app).problem }
            // No ETag: it changes with time alone.
            return Response(Explanation(app, view, state, at: clock.now, policy))
        }
        table.add(
            .get, TransferRoutes.sessions + "/{identifier}/tasks/{task}/timeline",
            "What the log says of a task, newest first",
            parameters: [
                .number("limit", 1...500, "How many at most (100)"),
                .number("cursor", 1...Int.max, "The `next` of the former answer: what comes after it"),
            ], response: TimelineDocument.self, problems: .ofDevice() + [.invalidQuery]
        ) { request, context in
            let limit = try request.query("limit", in: 1...500, default: 100)
            let cursor = try request.query("cursor", in: 1...Int.max, default: .max)
            let place = try routes.taskPlace(context)
            // Whoever may not see the device is told so here.
            _ = try await routes.read(request, context)
            let key = AggregateKey.device(try context.parameters.identifier("device"))
            return Response(try await timeline.page(key, place, before: cursor, limit: limit))
        }
    }
}
