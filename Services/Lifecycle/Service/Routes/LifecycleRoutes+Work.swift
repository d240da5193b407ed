import Contracts
import HTTPKit
import HTTPTypes
import Hummingbird
import LifecycleMachine
import Machines
import OrderedCollections
import Records
import Timeline

// Calls of an app's code: returning handlers, background tasks.
extension LifecycleRoutes {
    func addWork(_ table: inout RouteTable) {
        let app = "/v1/devices/{device}/apps/{app}"
        table.add(
            .post, app + "/callbacks/{callback}/completion", "Reports that a callback's handler returned",
            access: .caller,
            parameters: [.word("callback", Callback.self, "The `name` of the order that called it")],
            request: CallbackCompletion.self, response: AppDocument.self, problems: .ofCode(.alreadyCompleted)
        ) { request, context in
            let name = try context.parameters.identifier("callback")
            guard let callback = Callback(rawValue: name) else {
                throw Problem.notFound.with(detail: "There is no callback \"\(name)\".")
            }
            let completion = try await request.document(as: CallbackCompletion.self)
            return try await submit(request, context) { .completeCallback(app: $0, callback, completion) }
        }
        table.add(
            .post, app + "/tasks", "Begins a background task", access: .caller, request: TaskRequest.self,
            response: TaskDocument.self, status: .created, problems: .ofCode(.invalidTask)
        ) { request, context in
            let task = try await request.document(as: TaskRequest.self)
            return try await submit(request, context, status: .created) { .beginTask(app: $0, task) }
        }
        table.add(
            .delete, app + "/tasks/{task}", "Ends a background task", access: .caller, status: .noContent,
            problems: .ofCode()
        ) { request, context in
            let task = try context.parameters.identifier("task")
            return try await submit(request, context, status: .noContent) { .endTask(app: $0, task: task) }
        }
        table.add(
            .get, app + "/background-time-remaining", "Returns the time that background tasks have left",
            access: .caller,
            response: BackgroundTimeDocument.self, problems: .ofCode(), example: Example.backgroundTime
        ) { request, context in
            let record = try await installed(request, context).record
            guard record.state.isRunning else { throw LifecycleRefusal.appNotRunning(record.state).problem }
            // No ETag: it changes with time alone.
            return Response(BackgroundTimeDocument(record, at: clock.now))
        }
        table.add(
            .get, app + "/background-refresh-status", "Returns whether Background App Refresh is available to an app",
            access: .caller, response: BackgroundRefreshDocument.self, problems: .ofApp(),
            example: Example.backgroundRefresh
        ) { request, context in
            let app = try context.parameters.identifier("app")
            let found = try await registered(request, context)
            guard found.state.apps[app] != nil else { throw LifecycleRefusal.appNotInstalled(app).problem }
            return Response(BackgroundRefreshDocument(found.state.backgroundRefreshStatus(app)), etag: found.etag)
        }
        table.add(
            .post, app + "/wakes/{wake}/completion", "Reports that the handler of a wake finished", access: .caller,
            request: WakeCompletion.self, response: AppDocument.self,
            problems: .ofCode(
                .alreadyCompleted, .unknownWake("01a2011b-3b10-71e6-b1b4-dfd6cb32bb5f"), .resultMissing(.fetch),
                .successMissing)
        ) { request, context in
            let wake = try context.parameters.identifier("wake")
            let completion = try await request.document(as: WakeCompletion.self)
            return try await submit(request, context) { .completeWake(app: $0, wake: wake, completion) }
        }
    }
}
