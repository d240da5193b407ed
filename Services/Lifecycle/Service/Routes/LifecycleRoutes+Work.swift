import Contracts
import HTTPTypes
import Hummingbird
import LifecycleMachine
import Records
import ServiceKit

// What stands for code of an app: handlers that return, background tasks.
extension LifecycleRoutes {
    func addWork(_ table: inout RouteTable) {
        let app = "/v1/devices/{device}/apps/{app}"
        table.add(
            .post, app + "/callbacks/{callback}/completion", "A handler returned", access: .caller,
            request: CallbackCompletion.self, response: AppDocument.self
        ) { request, context in
            let name = try context.parameters.identifier("callback")
            guard let callback = Callback(rawValue: name) else {
                throw Problem.notFound.because("No callback is called \(name).")
            }
            let completion = try await request.document(as: CallbackCompletion.self)
            return try await submit(request, context) { .completeCallback(app: $0, callback, completion) }
        }
        table.add(
            .post, app + "/tasks", "Begins a background task", access: .caller, request: TaskRequest.self,
            response: TaskDocument.self, status: .created
        ) { request, context in
            let task = try await request.document(as: TaskRequest.self)
            return try await submit(request, context, status: .created) { .beginTask(app: $0, task) }
        }
        table.add(
            .delete, app + "/tasks/{task}", "Ends a background task", access: .caller, status: .noContent
        ) {
            request, context in
            let task = try context.parameters.identifier("task")
            return try await submit(request, context, status: .noContent) { .endTask(app: $0, task: task) }
        }
        table.add(
            .post, app + "/wakes/{wake}/completion", "The handler of a wake is done", access: .caller,
            request: WakeCompletion.self, response: AppDocument.self
        ) { request, context in
            let wake = try context.parameters.identifier("wake")
            let completion = try await request.document(as: WakeCompletion.self)
            return try await submit(request, context) { .completeWake(app: $0, wake: wake, completion) }
        }
    }
}
