import Contracts
import HTTPKit
import HTTPTypes
import Hummingbird
import Identity
import Machines
import OrderedCollections
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
            .put, path, "Creates a background session, or attaches to it", body: SessionConfiguration.self,
            .refuses(.ofCode(.tooManySessions(limit: 16), .sessionInvalidated("s"), .noBackgroundSessions))
        ) { configuration, call in
            try await session(after: .openSession(app: call.app, session: call.session, configuration), call)
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

    private func addTasks(_ table: inout RouteTable) {
        let session = Self.sessions + "/{identifier}"
        let path = session + "/tasks/{task}"
        table.add(
            .post, session + "/downloads", "Creates a download task, which is suspended unless resume is true",
            body: DownloadRequest.self, .secrets { $0.withoutSecretHeaders },
            .status(.created), .refuses(.ofNewTask + [TransferRefusal.unusableResumeData.problem, .originNotAllowed])
        ) { download, call in
            try await create(download.url, download.headers, call) { secret in
                try download.command(app: call.app, session: call.session, secretHeaders: secret)
            }
        }
        table.add(
            .post, session + "/uploads", "Creates an upload task, which is suspended unless resume is true",
            body: UploadRequest.self, .secrets { $0.withoutSecretHeaders },
            .status(.created),
            .refuses(
                .ofNewTask + [
                    TransferRefusal.unknownFile("film").problem, .originNotAllowed, .uploadIncomplete, .uploadGone,
                ] + .ofStoring)
        ) { try await upload($0, $1) }
        table.add(.get, path, "A task", .refuses(.ofDevice(.unknownTask(1)))) { call in
            let (found, etag) = try await findTask(call)
            return Reply(TaskDocument(found), etag: etag)
        }
        let actions: [(String, String, @Sendable (TaskKey) -> TransferCommand)] = [
            ("resume", "Starts a new task, or resumes a suspended one", { .resume($0) }),
            ("suspend", "Suspends a task", { .suspend($0) }), ("cancel", "Cancels a task", { .cancel($0) }),
            (
                "cancel-by-producing-resume-data",
                "Cancels a task; error.resumeData is set if a later download can resume from the received bytes",
                { .cancelByProducingResumeData($0) }
            ),
        ]
        for (word, summary, command) in actions {
            table.add(
                .post, path + "/" + word, summary, .refuses(.ofCode(.unknownSession("s"), .unknownTask(1)))
            ) { call in try await task(after: command(call.task), call) }
        }
        table.add(
            .post, path + "/claim", "Claims the file of a download for the app, now or when the download has finished",
            body: ClaimRequest.self,
            .refuses(.ofCode(.unknownSession("s"), .unknownTask(1), .nothingToClaim(1), .tooManyFiles(limit: 64)))
        ) { claim, call in try await task(after: .claim(call.task, name: claim.name), call) }
        table.add(
            .get, path + "/file", "The file that a task has downloaded, or the response body of an upload",
            .bytes("*/*"), .refuses(.ofDevice(.unknownTask(1)) + [.fileNotReady, .fileGone, .storageExhausted])
        ) { try await file($0) }
    }

    /// Returns the refusal of a URL whose origin is not allowed.
    private func refusal(of url: String?) -> Problem? {
        guard let origin = url.flatMap({ WebOrigin(url: $0) }), !origins.mayFetch(origin) else { return nil }
        return .originNotAllowed.with(detail: "ALLOWED_ORIGINS does not include \(origin).")
    }

    private func upload(_ upload: UploadRequest, _ call: Call) async throws -> Reply<TaskDocument> {
        let caller = try call.context.requireCaller(.operate)
        var (source, problem) = (UploadSource.file(upload.file), Problem?.none)
        do { source = try await withStorage { try await files.source(upload.file, for: caller) } } catch let fault
            as Problem
        {
            problem = fault
        }
        let found = (source, problem)
        return try await files.keep(source.body) { file in
            try await create(upload.url, upload.headers, call, problem: found.1, naming: file) { secret in
                .upload(
                    app: try call.app, session: try call.session, upload.transferRequest(secretHeaders: secret),
                    found.0, resumes: upload.resume)
            }
        }
    }

    /// Creates a task, and keeps the secret fields of its request.
    ///
    /// A repeated request gets its first answer, even if its upload is gone, its origin is no longer allowed or its
    /// device was removed.
    private func create(
        _ url: String?, _ fields: OrderedDictionary<String, String>, _ call: Call, problem: Problem? = nil,
        naming file: Naming? = nil, _ command: (_ secretHeaders: String?) throws -> TransferCommand
    ) async throws -> Reply<TaskDocument> {
        let secret = fields.separated.secret
        var problem = refusal(of: url) ?? problem
        if secret != nil {
            _ = try call.context.requireCaller(.operate)
            // Nothing is stored for a caller without access to the device.
            if problem == nil { problem = try await readForCommand(call).problem }
        }
        let refused = problem
        return try await headers.keep(refused == nil ? secret : nil, call) { id, naming in
            let session = try call.sessionKey
            return try await commands.submit(try command(id), call, problem: refused) { aggregate, _ in
                file?.done()
                naming.done()
                return aggregate.state[session]?.tasks.last.map { TaskDocument($0) }
            }
        }
    }

    /// Submits a command about the task in the path. The answer is the task.
    private func task(after command: TransferCommand, _ call: Call) async throws -> Reply<TaskDocument> {
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

    /// Sends the bytes of all attempts as one file.
    private func file(_ call: Call) async throws -> Response {
        let (task, _) = try await findTask(call)
        guard task.state == .completed, task.error == nil, task.sha256 != nil else { throw Problem.fileNotReady }
        guard task.fate != .gone else {
            throw Problem.fileGone.with(
                detail: "didFinishDownloadingTo has returned, and the app did not claim the file.")
        }
        return try await withStorage { try await files.answer(task.receivedFile, on: call.context.channel) }
    }

    private func findTask(_ call: Call) async throws -> (TransferTask, ETag) {
        let taskKey = try call.task
        let (state, etag) = try await read(call)
        guard let task = state.task(taskKey) else { throw TransferRefusal.unknownTask(taskKey.task).problem }
        return (task, etag)
    }

    /// Returns the state that a new command needs, or the refusal of it. A repeated command gets its first answer.
    func readForCommand(_ call: Call) async throws -> (state: TransferMachine?, problem: Problem?) {
        do { return (try await read(call).0, nil) } catch let problem as Problem { return (nil, problem) }
    }

    /// Returns the state of the registered device in the path.
    func read(_ call: Call) async throws -> (TransferMachine, ETag) {
        guard let found = try await commands.read(call), found.aggregate.state.isRegistered else {
            throw TransferRefusal.deviceNotRegistered.problem
        }
        return (found.aggregate.state, found.aggregate.etag)
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
