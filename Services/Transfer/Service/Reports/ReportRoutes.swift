import Contracts
import HTTPKit
import Hummingbird
import Machines
import OrderedCollections
import Records
import Timeline
import TransferCore

/// The reports: why transfers do not move, and the events of a task.
struct ReportRoutes: Sendable {
    let routes: TransferRoutes
    let store: TransferStore
    let clock: any SuiteClock
    let policy: TransferPolicy

    func add(to table: inout RouteTable) {
        table.add(
            .get, "/v1/devices/{device}/apps/{app}/explain",
            "The reasons why tasks of an app do not move, and why its sessions do not wake it", .refuses(.ofApp())
        ) { call in
            let app = try call.app
            let (state, _) = try await routes.read(call) { $0.apps[app] != nil }
            guard let view = state.apps[app] else { throw TransferRefusal.appNotInstalled(app).problem }
            // No ETag, because the answer changes with time alone.
            return Reply(Explanation(app, view, state, at: clock.now, policy))
        }
        table.add(
            .get, TransferRoutes.sessions + "/{identifier}/tasks/{task}/timeline",
            "The events of a task, newest first",
            .parameters(
                .number("limit", 1...500, "The largest number of events (100)"),
                .cursor),
            .refuses(.ofDevice() + [.invalidQuery])
        ) { call in
            let (limit, cursor) = try call.page(default: 100)
            let task = try call.task
            // Refuses a caller without access to the device.
            _ = try await routes.read(call)
            return Reply(call.marked(try await store.timeline(of: task, call.device, before: cursor, limit: limit)))
        }
    }
}
