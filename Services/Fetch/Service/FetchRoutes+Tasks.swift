import Contracts
import EventLog
import FetchCore
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
    private static let unknown = FetchRefusal.unknown + [FetchRefusal.noTaskRequests.described]

    func addTasks(_ table: inout RouteTable) {
        table.add(
            .post, Self.requests, "Submits a task request, or replaces a pending one",
            body: BackgroundTaskRequest.self, .status(.created),
            .refuses(
                FetchRefusal.unknownOrNotRunning + [FetchRefusal.noTaskRequests.described] + FetchRefusal.submission)
        ) { task, call in
            try task.requireRequirementsOfItsKind()
            let app = try call.app
            return try await commands.submit(.submitTask(app: app, task), call) { aggregate, _ in
                let record = aggregate.state.apps[app]
                return task.kind == .continuedProcessing
                    ? record?.continuedTasks[task.identifier].map { TaskRequestDocument($0) }
                    : record?.tasks[task.identifier].map { TaskRequestDocument($0) }
            }
        }
        table.add(
            .get, Self.requests, "Lists the pending task requests and the running task", .refuses(FetchRefusal.unknown)
        ) { call in
            let found = try await find(call)
            return Reply(TaskRequestList(found.record), etag: call.etag(of: found.device))
        }
        table.add(
            .delete, Self.requests, "Cancels all pending task requests of an app",
            .refuses(FetchRefusal.unknownOrNotRunning)
        ) { call in try await commands.submit(.cancelAllTasks(app: call.app), call) }
        table.add(
            .delete, Self.requests + "/{identifier}", "Cancels a task request if it is pending",
            .refuses(FetchRefusal.unknownOrNotRunning)
        ) { call in
            let identifier = try call.identifier("identifier")
            return try await commands.submit(.cancelTask(app: call.app, identifier: identifier), call)
        }
        table.add(
            .post, Self.requests + "/{identifier}/user-cancellation",
            "Cancels a continued processing task for the user, in the queue or while it runs",
            .refuses(
                FetchRefusal.unknown + [FetchRefusal.noContinuedProcessing.described]
                    + [FetchRefusal.taskNotRunning("").described])
        ) { call in
            let identifier = try call.identifier("identifier")
            return try await commands.submit(.cancelContinuedTask(app: call.app, identifier: identifier), call)
        }
        table.add(
            .get, Self.app + "/task-runs", "Lists the runs of task requests, newest first", .parameters(.pages),
            .refuses(FetchRefusal.unknown + [.invalidQuery])
        ) { call in
            let (limit, cursor) = try call.page()
            let (device, app, record) = try await find(call)
            let entries = try await runs.page(device.key, app: app, before: cursor, limit: limit)
            let running = cursor == .max ? record.runningTask.map { TaskRunDocument($0) } : nil
            return Reply(call.marked(Page(entries, limit: limit, after: running) { TaskRunDocument($0) }))
        }
        table.add(
            .post, Self.requests + "/{identifier}/simulate-launch",
            "Runs a task request now, without the scheduler but by the rules of iOS", .status(.accepted),
            .refuses(
                Self.unknown + FetchRefusal.wake
                    + [FetchRefusal.taskRunning(""), .taskNotPermitted(""), .noLaunchHandler(""), .taskNotPending("")]
                    .map(\.described))
        ) { call in try await run(call) { .simulateTaskLaunch(app: $0, identifier: $1) } }
        table.add(
            .post, Self.requests + "/{identifier}/simulate-expiration", "Expires a running task now",
            .status(.accepted), .refuses(Self.unknown + [FetchRefusal.taskNotRunning("").described])
        ) { call in try await run(call) { .simulateTaskExpiration(app: $0, identifier: $1) } }
    }

    /// Submits a command about a run and responds with the run.
    private func run(
        _ call: Call, _ command: (String, String) -> FetchCommand
    ) async throws -> Reply<TaskRunDocument> {
        let identifier = try call.identifier("identifier")
        let app = try call.app
        return try await commands.submit(command(app, identifier), call) { aggregate, _ in
            let record = aggregate.state.apps[app]
            if let task = record?.continuedTasks[identifier], let run = task.run { return TaskRunDocument(task, run) }
            return (record?.runningTask).map { TaskRunDocument($0) }
        }
    }
}

extension BackgroundTaskRequest {
    /// Throws if the request has a member that the class of its kind lacks.
    fileprivate func requireRequirementsOfItsKind() throws(Problem) {
        var errors: [FieldError] = []
        if !kind.isProcessing, requiresExternalPower {
            errors.append(FieldError(pointer: "/requiresExternalPower", detail: "is only for processing"))
        }
        if !kind.isProcessing, requiresNetworkConnectivity {
            errors.append(FieldError(pointer: "/requiresNetworkConnectivity", detail: "is only for processing"))
        }
        if kind != .healthResearch, protectionTypeOfRequiredData != nil {
            errors.append(FieldError(pointer: "/protectionTypeOfRequiredData", detail: "is only for health research"))
        }
        errors += continuedProcessingErrors
        guard errors.isEmpty else { throw .invalidDocument.with(fieldErrors: errors) }
    }

    /// The faults of the members that belong to continued processing.
    private var continuedProcessingErrors: [FieldError] {
        guard kind == .continuedProcessing else {
            let present = [
                ("requiredResources", !requiredResources.isEmpty), ("strategy", strategy != nil),
                ("subtitle", subtitle != nil), ("title", title != nil),
            ]
            return present.filter(\.1).map { name, _ in
                FieldError(pointer: "/\(name)", detail: "is only for continued processing")
            }
        }
        return [("subtitle", subtitle), ("title", title)].filter { $0.1 == nil }.map { name, _ in
            FieldError(pointer: "/\(name)", detail: "is missing: continued processing shows it to the user")
        }
    }
}
