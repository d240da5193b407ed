import Contracts
import EventLog
import FetchMachine
import HTTPKit
import HTTPTypes
import Hummingbird
import Machines
import OrderedCollections
import Records
import ServiceKit
import Timeline

// `BGTaskScheduler`.
extension FetchRoutes {
    private static let requests = app + "/task-requests"
    private static let unknown = FetchRefusal.unknown + [FetchRefusal.noTaskRequests(.ios7).described]

    func addTasks(_ table: inout RouteTable) {
        table.add(
            .post, Self.requests, "Submits a task request, or replaces a pending one",
            access: .caller, request: BackgroundTaskRequest.self, response: TaskRequestDocument.self, status: .created,
            problems: Self.unknown + FetchRefusal.submission
        ) { request, context in
            let task = try await request.document(as: BackgroundTaskRequest.self)
            try task.requireRequirementsOfItsKind()
            let (key, app) = try place(context)
            return try await commands.submit(
                .submitTask(app: app, task), to: key, request, context, status: .created
            ) { aggregate, _ in
                (aggregate.state.apps[app]?.tasks[task.identifier]).map { TaskRequestDocument($0).jsonBytes } ?? []
            }
        }
        table.add(
            .get, Self.requests, "Lists the pending task requests and the running task", access: .caller,
            response: TaskRequestList.self, problems: FetchRefusal.unknown
        ) { request, context in
            let found = try await find(request, context)
            return Response(TaskRequestList(found.record), etag: found.etag)
        }
        table.add(
            .delete, Self.requests, "Cancels all pending task requests of an app", access: .caller,
            status: .noContent, problems: FetchRefusal.unknown
        ) { request, context in
            let (key, app) = try place(context)
            return try await commands.submit(
                .cancelAllTasks(app: app), to: key, request, context, status: .noContent
            ) { _, _ in [] }
        }
        table.add(
            .delete, Self.requests + "/{identifier}", "Cancels a task request if it is pending",
            access: .caller, status: .noContent, problems: FetchRefusal.unknown
        ) { request, context in
            let identifier = try context.parameters.identifier("identifier")
            let (key, app) = try place(context)
            return try await commands.submit(
                .cancelTask(app: app, identifier: identifier), to: key, request, context, status: .noContent
            ) { _, _ in [] }
        }
        addRuns(&table)
        addSimulation(&table)
    }

    private func addRuns(_ table: inout RouteTable) {
        table.add(
            .get, Self.app + "/task-runs", "Lists the runs of task requests, newest first", access: .caller,
            parameters: .pages, response: TaskRunPage.self, problems: FetchRefusal.unknown + [.invalidQuery]
        ) { request, context in
            let limit = try request.query("limit", in: 1...200, default: 50)
            let cursor = try request.query("cursor", in: 1...Int.max, default: Int.max)
            let found = try await find(request, context)
            let entries = try await runs.page(found.key, app: found.app, before: cursor, limit: limit)
            var page = TaskRunPage()
            page.items = entries.map { TaskRunDocument($0.data) }
            if cursor == .max, let running = found.record.runningTask {
                page.items.insert(TaskRunDocument(running), at: 0)
            }
            page.next = entries.count == limit ? entries.last.map { String($0.offset) } : nil
            return Response(page)
        }
    }

    private func addSimulation(_ table: inout RouteTable) {
        table.add(
            .post, Self.requests + "/{identifier}/simulate-launch",
            "Runs a task request now: skips the scheduler, obeys the platform", access: .caller,
            response: TaskRunDocument.self, status: .accepted,
            problems: Self.unknown + [FetchRefusal.immediateRunIneligible(""), .taskNotPending("")].map(\.described)
        ) { request, context in
            try await run(request, context) { .simulateTaskLaunch(app: $0, identifier: $1) }
        }
        table.add(
            .post, Self.requests + "/{identifier}/simulate-expiration",
            "Expires a running task now", access: .caller, response: TaskRunDocument.self,
            status: .accepted, problems: Self.unknown + [FetchRefusal.taskNotRunning("").described]
        ) { request, context in
            try await run(request, context) { .simulateTaskExpiration(app: $0, identifier: $1) }
        }
    }

    /// Submits a command about a run and responds with the run.
    private func run(
        _ request: Request, _ context: ServiceContext, _ command: (String, String) -> FetchCommand
    ) async throws -> Response {
        let identifier = try context.parameters.identifier("identifier")
        let (key, app) = try place(context)
        return try await commands.submit(command(app, identifier), to: key, request, context, status: .accepted) {
            aggregate, _ in
            (aggregate.state.apps[app]?.runningTask).map { TaskRunDocument($0).jsonBytes } ?? []
        }
    }
}

extension BackgroundTaskRequest {
    /// Throws if a refresh has requirements, which `BGAppRefreshTaskRequest` does not support.
    fileprivate func requireRequirementsOfItsKind() throws(Problem) {
        guard kind == .refresh else { return }
        let required = [
            (requiresExternalPower, "/requiresExternalPower"),
            (requiresNetworkConnectivity, "/requiresNetworkConnectivity"),
        ].filter(\.0)
        guard !required.isEmpty else { return }
        throw .invalidDocument.with(
            fieldErrors: required.map { FieldError(pointer: $0.1, detail: "is only for processing") })
    }
}
