import Contracts
import HTTPKit
import HTTPTypes
import Hummingbird
import LifecycleCore
import Machines
import OrderedCollections
import Records
import ServiceKit
import Timeline

// Calls of an app's code: returning handlers, background tasks.
extension LifecycleRoutes {
    func addWork(_ table: inout RouteTable) {
        let path = "/v1/devices/{device}/apps/{app}"
        table.add(
            .post, path + "/callbacks/{callback}/completion", "Reports that a callback's handler returned",
            body: CallbackCompletion.self,
            .parameters(.word("callback", Callback.self, "The `name` of the order that called it")),
            .checks { _ = try callback($0) },
            .refuses(.ofCode(.alreadyCompleted, .unsupported(.appSwitcherSnapshots, on: .ios6)))
        ) { completion, call in
            try await app(after: .completeCallback(app: call.app, callback(call), completion), call)
        }
        table.add(
            .post, path + "/tasks", "Begins a background task", body: TaskRequest.self, .status(.created),
            .refuses(.ofCode(.invalidTask))
        ) { task, call in
            try await commands.submit(.beginTask(app: call.app, task), call) { _, events in
                for case .taskBegun(let begun) in events { return TaskDocument(begun) }
                return nil
            }
        }
        table.add(.delete, path + "/tasks/{task}", "Ends a background task", .refuses(.ofCode())) { call in
            let task = try call.identifier("task")
            return try await commands.submit(.endTask(app: call.app, task: task), call)
        }
        table.add(
            .get, path + "/background-time-remaining", "Returns the time that background tasks have left",
            .refuses(.ofCode()), .example(Example.backgroundTime)
        ) { call in
            let record = try await installed(call).record
            guard record.state.isRunning else { throw LifecycleRefusal.appNotRunning(record.state).problem }
            // No ETag: it changes with time alone.
            return Reply(BackgroundTimeDocument(record, at: clock.now))
        }
        table.add(
            .get, path + "/background-refresh-status", "Returns whether Background App Refresh is available to an app",
            .refuses(.ofApp(.unsupported(.backgroundAppRefresh, on: .ios6))), .example(Example.backgroundRefresh)
        ) { call in
            let app = try call.app
            let found = try await registered(call)
            guard found.state.apps[app] != nil else { throw LifecycleRefusal.appNotInstalled(app).problem }
            try require(.backgroundAppRefresh, on: found.state)
            return Reply(BackgroundRefreshDocument(found.state.backgroundRefreshStatus(app)), etag: found.etag)
        }
        table.add(
            .post, path + "/wakes/{wake}/completion", "Reports that the handler of a wake finished",
            body: WakeCompletion.self,
            .refuses(
                .ofCode(
                    .alreadyCompleted, .unknownWake("01a2011b-3b10-71e6-b1b4-dfd6cb32bb5f"), .resultMissing(.fetch),
                    .unsupported(.appSwitcherSnapshots, on: .ios6),
                    .successMissing, .pushResultMissing))
        ) { completion, call in
            let wake = try call.identifier("wake")
            return try await app(after: .completeWake(app: call.app, wake: wake, completion), call)
        }
        table.add(
            .put, path + "/wakes/{wake}/progress", "Reports the progress of a continued processing task",
            body: TaskProgress.self,
            .refuses(
                .ofCode(
                    .alreadyCompleted, .unknownWake("01a2011b-3b10-71e6-b1b4-dfd6cb32bb5f"), .withoutProgress(.fetch)))
        ) { progress, call in
            let wake = try call.identifier("wake")
            return try await app(after: .reportProgress(app: call.app, wake: wake, progress), call)
        }
    }

    private func callback(_ call: Call) throws(Problem) -> Callback {
        let name = try call.identifier("callback")
        guard let callback = Callback(rawValue: name) else {
            throw .notFound.with(detail: "There is no callback \"\(name)\".")
        }
        return callback
    }
}
