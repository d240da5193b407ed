import Contracts
import HTTPKit
import HTTPTypes
import Hummingbird
import Identity
import Machines
import Records
import ServiceKit
import TransferCore

/// The REST calls on sessions and tasks. Each decodes a request, submits at most one command and encodes the answer.
struct TransferRoutes: Sendable {
    static let sessions = "/v1/devices/{device}/apps/{app}/sessions"

    let commands: Commands<TransferMachine>
    let files: AppFiles
    let headers: RequestHeaders
    let origins: AllowedOrigins

    func add(to table: inout RouteTable) {
        addSessions(&table)
        addTasks(&table)
        addCallbacks(&table)
    }

    private func addSessions(_ table: inout RouteTable) {
        let path = Self.sessions + "/{identifier}"
        table.add(
            .put, path, "Creates a background session, or attaches to it", body: SessionRequest.self,
            .refuses(
                .ofCode(
                    .tooManySessions(limit: 16), .sessionInvalidated("s"), .noBackgroundSessions,
                    .sharedContainerRequired("s"), .sessionInUse("s", by: .app)))
        ) { request, call in
            try await session(
                after: .openSession(
                    app: call.app, session: call.session, request.configuration, by: request.process), call)
        }
        table.add(
            .post, path + "/extension-end", "Reports that the process of the app extension has ended",
            .refuses(.ofApp(.unknownSession("s")))
        ) { call in
            let session = try call.session
            return try await commands.submit(.endExtension(app: call.app, session: session), call)
        }
        table.add(.get, path, "A session with its tasks", .refuses(.ofDevice(.unknownSession("s")))) { call in
            let key = try call.sessionKey
            let (state, etag) = try await read(call)
            guard let found = state[key] else { throw TransferRefusal.unknownSession(key.session).problem }
            return Reply(SessionDocument(key, found), etag: etag)
        }
        table.add(.get, Self.sessions, "The sessions of an app", .refuses(.ofDevice())) { call in
            let app = try call.app
            let (state, etag) = try await read(call)
            let sessions = state.sessions.filter { $0.key.app == app }
            return Reply(Page(sessions.map { SessionDocument($0.key, $0.session) }), etag: etag)
        }
        for (word, cancels) in [("finish-tasks-and-invalidate", false), ("invalidate-and-cancel", true)] {
            table.add(
                .post, path + "/" + word,
                cancels
                    ? "Cancels the tasks of a session and invalidates it"
                    : "Invalidates a session when its tasks have finished",
                .refuses(.ofCode(.unknownSession("s")))
            ) { call in
                let session = try call.session
                return try await commands.submit(
                    .invalidateSession(app: call.app, session: session, cancels: cancels), call)
            }
        }
    }

    /// Adds the route that reports the return of `didFinishDownloadingTo`.
    private func addCallbacks(_ table: inout RouteTable) {
        table.add(
            .post, Self.sessions + "/{identifier}/callbacks/{callback}/completion",
            "Reports that didFinishDownloadingTo has returned; removes the file unless the app has claimed it",
            body: CallbackCompletion.self, .refuses(.ofCode(.unknownSession("s"))),
            .checks { call in
                guard try call.identifier("callback") == "didFinishDownloadingTo" else {
                    throw Problem.notFound.with(
                        detail: "The only callback with a completion is didFinishDownloadingTo.")
                }
            }
        ) { completion, call in
            let session = try call.session
            return try await commands.submit(
                .returnFromCallback(app: call.app, session: session, task: completion.task), call)
        }
    }

    /// Submits a command about the task in the path. The answer is the task.
    func task(after command: TransferCommand, _ call: Call) async throws -> Reply<TaskDocument> {
        let task = try call.task
        return try await commands.submit(command, call) { aggregate, _ in
            aggregate.state.task(task).map { TaskDocument($0) }
        }
    }

    /// Submits a command about the session in the path. The answer is the session.
    private func session(after command: TransferCommand, _ call: Call) async throws -> Reply<SessionDocument> {
        let session = try call.sessionKey
        return try await commands.submit(command, call) { aggregate, _ in
            aggregate.state[session].map { SessionDocument(session, $0) }
        }
    }

    func findTask(_ call: Call) async throws -> (TransferTask, ETag) {
        let taskKey = try call.task
        let (state, etag) = try await read(call)
        guard let task = state.task(taskKey) else { throw TransferRefusal.unknownTask(taskKey.task).problem }
        return (task, etag)
    }

    /// Returns the state that a new command needs, or the refusal of it. A repeated command gets its first answer.
    ///
    /// - Parameter suffices: whether the state has the needed content. If not, the latest events are read first.
    func readForCommand(
        _ call: Call, suffices: @Sendable (TransferMachine) -> Bool = { _ in true }
    ) async throws -> (state: TransferMachine?, problem: Problem?) {
        do {
            return (try await read(call, suffices: suffices).0, nil)
        } catch let problem as Problem {
            return (nil, problem)
        }
    }

    /// Returns the state of the registered device in the path.
    ///
    /// - Parameter suffices: whether the state has the needed content. If not, the latest events are read first.
    func read(
        _ call: Call, suffices: @Sendable (TransferMachine) -> Bool = { _ in true }
    ) async throws -> (TransferMachine, ETag) {
        guard let found = try await commands.read(call, suffices: suffices), found.aggregate.state.isRegistered else {
            throw TransferRefusal.deviceNotRegistered.problem
        }
        return (found.aggregate.state, call.etag(of: found.aggregate))
    }
}

extension Call {
    /// The session in the path.
    var session: String { get throws(Problem) { try identifier("identifier") } }

    /// The app and the session in the path.
    var sessionKey: SessionKey { get throws(Problem) { SessionKey(app: try app, session: try session) } }

    /// The task in the path. It throws `not_found` if its number is not positive.
    var task: TaskKey {
        get throws(Problem) {
            guard let number = Int(try identifier("task")), number > 0 else { throw .notFound }
            return TaskKey(app: try app, session: try session, task: number)
        }
    }
}
