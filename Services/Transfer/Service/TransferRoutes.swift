import Contracts
import HTTPKit
import HTTPTypes
import Hummingbird
import Identity
import Machines
import OrderedCollections
import Records
import ServiceKit
import TransferMachine

/// The REST calls on sessions and tasks. Each decodes a request, submits at most one command and encodes the answer.
struct TransferRoutes: Sendable {
    static let sessions = "/v1/devices/{device}/apps/{app}/sessions"

    let commands: Commands<TransferMachine>
    let files: AppFiles
    let origins: AllowedOrigins

    func add(to table: inout RouteTable) {
        addSessions(&table)
        addTasks(&table)
        addCallbacks(&table)
    }

    private func addSessions(_ table: inout RouteTable) {
        let session = Self.sessions + "/{identifier}"
        table.add(
            .put, session, "Creates a background session, or attaches to it", request: SessionConfiguration.self,
            response: SessionDocument.self,
            problems: .ofCode(.tooManySessions(limit: 16), .sessionInUse("s"), .sessionInvalidated("s"))
        ) { request, context in
            let configuration = try await request.document(as: SessionConfiguration.self)
            return try await submitToSession(request, context) {
                .openSession(app: $0, session: $1, configuration)
            }
        }
        table.add(
            .get, session, "A session with its tasks", response: SessionDocument.self,
            problems: .ofDevice(.unknownSession("s"))
        ) { request, context in
            let (app, id) = (try context.parameters.identifier("app"), try context.parameters.identifier("identifier"))
            let (state, etag) = try await read(request, context)
            guard let found = state.sessions[id], found.app == app else {
                throw TransferRefusal.unknownSession(id).problem
            }
            return Response(SessionDocument(id, found), etag: etag)
        }
        table.add(
            .get, Self.sessions, "The sessions of an app", response: SessionList.self, problems: .ofDevice()
        ) { request, context in
            let app = try context.parameters.identifier("app")
            let (state, etag) = try await read(request, context)
            return Response(SessionList(state, of: app), etag: etag)
        }
        for (word, cancels) in [("finish-tasks-and-invalidate", false), ("invalidate-and-cancel", true)] {
            table.add(
                .post, session + "/" + word,
                cancels
                    ? "Cancels the tasks of a session and invalidates it"
                    : "Invalidates a session when its tasks have finished",
                status: .noContent, problems: .ofCode(.unknownSession("s"))
            ) { request, context in
                try await submitToSession(request, context, status: .noContent) {
                    .invalidateSession(app: $0, session: $1, cancels: cancels)
                }
            }
        }
    }

    /// Adds the route that reports the return of `didFinishDownloadingTo`.
    private func addCallbacks(_ table: inout RouteTable) {
        table.add(
            .post, Self.sessions + "/{identifier}/callbacks/{callback}/completion",
            "Reports that didFinishDownloadingTo has returned; removes the file unless the app has claimed it",
            request: CallbackCompletion.self, status: .noContent, problems: .ofCode(.unknownSession("s"))
        ) { request, context in
            guard try context.parameters.identifier("callback") == "didFinishDownloadingTo" else {
                throw Problem.notFound.with(detail: "The only callback with a completion is didFinishDownloadingTo.")
            }
            let completion = try await request.document(as: CallbackCompletion.self)
            return try await submitToSession(request, context, status: .noContent) {
                .returnFromCallback(app: $0, session: $1, task: completion.task)
            }
        }
    }

    private func addTasks(_ table: inout RouteTable) {
        let session = Self.sessions + "/{identifier}"
        let task = session + "/tasks/{task}"
        table.add(
            .post, session + "/downloads", "Creates and resumes a download task",
            request: DownloadRequest.self, response: TaskDocument.self, status: .created,
            problems: .ofNewTask + [TransferRefusal.unusableResumeData.problem, .originNotAllowed]
        ) { request, context in
            let download = try await request.document(as: DownloadRequest.self)
            try requireAllowed(download.url)
            return try await createTask(request, context) { app, session in
                try download.command(app: app, session: session)
            }
        }
        table.add(
            .post, session + "/uploads", "Creates and resumes an upload task",
            request: UploadRequest.self, response: TaskDocument.self, status: .created,
            problems: .ofNewTask + [
                TransferRefusal.unknownFile("film").problem, .originNotAllowed, .uploadIncomplete, .uploadGone,
            ] + .ofStoring
        ) { request, context in
            let upload = try await request.document(as: UploadRequest.self)
            try requireAllowed(upload.url)
            let caller = try context.requireCaller(.operate)
            var (source, problem) = (UploadSource.file(upload.file), Problem?.none)
            // A repeated request gets its first answer, even if the upload is gone by now.
            do { source = try await withStorage { try await files.source(upload.file, for: caller) } } catch let fault
                as Problem
            {
                problem = fault
            }
            let found = (source, problem)
            return try await files.keep(source.body) { naming in
                try await createTask(
                    request, context, problem: found.1, naming: naming
                ) { app, session in
                    .upload(app: app, session: session, upload.transferRequest, found.0)
                }
            }
        }
        table.add(
            .get, task, "A task", response: TaskDocument.self, problems: .ofDevice(.unknownTask(1))
        ) { request, context in
            let (found, etag) = try await findTask(request, context)
            return Response(TaskDocument(found), etag: etag)
        }
        let actions: [(String, String, @Sendable (TaskKey) -> TransferCommand)] = [
            ("resume", "Resumes a suspended task", { .resume($0) }),
            ("suspend", "Suspends a task", { .suspend($0) }), ("cancel", "Cancels a task", { .cancel($0) }),
            (
                "cancel-by-producing-resume-data",
                "Cancels a task; error.resumeData is set if a later download can resume from the received bytes",
                { .cancelByProducingResumeData($0) }
            ),
        ]
        for (word, summary, command) in actions {
            table.add(
                .post, task + "/" + word, summary, response: TaskDocument.self,
                problems: .ofCode(.unknownSession("s"), .unknownTask(1))
            ) { request, context in
                try await submitToTask(command(try taskKey(context)), request, context)
            }
        }
        table.add(
            .post, task + "/claim", "Claims the file of a download for the app, now or when the download has finished",
            request: ClaimRequest.self, response: TaskDocument.self,
            problems: .ofCode(.unknownSession("s"), .unknownTask(1), .nothingToClaim(1), .tooManyFiles(limit: 64))
        ) { request, context in
            let claim = try await request.document(as: ClaimRequest.self)
            return try await submitToTask(.claim(try taskKey(context), name: claim.name), request, context)
        }
        table.add(
            .get, task + "/file", "The file that a task has downloaded, or the response body of an upload",
            bytes: "*/*", problems: .ofDevice(.unknownTask(1)) + [.fileNotReady, .fileGone, .storageExhausted]
        ) { try await file($0, $1) }
    }

    private func requireAllowed(_ url: String?) throws(Problem) {
        guard let origin = url.flatMap({ WebOrigin(url: $0) }), !origins.mayFetch(origin) else { return }
        throw .originNotAllowed.with(detail: "ALLOWED_ORIGINS does not include \(origin).")
    }

    private func createTask(
        _ request: Request, _ context: ServiceContext, problem: Problem? = nil, naming: Naming? = nil,
        _ command: (_ app: String, _ session: String) throws -> TransferCommand
    ) async throws -> Response {
        let (app, id) = (try context.parameters.identifier("app"), try context.parameters.identifier("identifier"))
        let key = AggregateKey.device(try context.parameters.identifier("device"))
        return try await commands.submit(
            try command(app, id), to: key, request, context, status: .created, problem: problem
        ) { aggregate, _ in
            naming?.done()
            return aggregate.state.sessions[id]?.tasks.last.map { TaskDocument($0).jsonBytes } ?? []
        }
    }

    private func submitToTask(
        _ command: TransferCommand, _ request: Request, _ context: ServiceContext
    ) async throws -> Response {
        let taskKey = try taskKey(context)
        let key = AggregateKey.device(try context.parameters.identifier("device"))
        return try await commands.submit(command, to: key, request, context) { aggregate, _ in
            aggregate.state.task(taskKey).map { TaskDocument($0).jsonBytes } ?? []
        }
    }

    /// Sends the bytes of all attempts as one file.
    private func file(_ request: Request, _ context: ServiceContext) async throws -> Response {
        let (task, _) = try await findTask(request, context)
        guard task.state == .completed, task.error == nil, task.sha256 != nil else { throw Problem.fileNotReady }
        guard task.fate != .gone else {
            throw Problem.fileGone.with(
                detail: "didFinishDownloadingTo has returned, and the app did not claim the file.")
        }
        return try await withStorage { try await files.answer(task.receivedFile, on: context.channel) }
    }

    func taskKey(_ context: ServiceContext) throws(Problem) -> TaskKey {
        let app = try context.parameters.identifier("app")
        let session = try context.parameters.identifier("identifier")
        guard let task = Int(try context.parameters.identifier("task")), task > 0 else { throw .notFound }
        return TaskKey(app: app, session: session, task: task)
    }

    private func findTask(_ request: Request, _ context: ServiceContext) async throws -> (TransferTask, ETag) {
        let taskKey = try taskKey(context)
        let (state, etag) = try await read(request, context)
        guard let task = state.task(taskKey) else { throw TransferRefusal.unknownTask(taskKey.task).problem }
        return (task, etag)
    }

    func read(_ request: Request, _ context: ServiceContext) async throws -> (TransferMachine, ETag) {
        let key = AggregateKey.device(try context.parameters.identifier("device"))
        guard let found = try await commands.read(key, request, context), found.aggregate.state.isRegistered else {
            throw TransferRefusal.deviceNotRegistered.problem
        }
        return (found.aggregate.state, ETag(version: found.aggregate.eventCount))
    }

    private func submitToSession(
        _ request: Request, _ context: ServiceContext, status: HTTPResponse.Status = .ok,
        _ command: (_ app: String, _ session: String) -> TransferCommand
    ) async throws -> Response {
        let (app, id) = (try context.parameters.identifier("app"), try context.parameters.identifier("identifier"))
        let key = AggregateKey.device(try context.parameters.identifier("device"))
        return try await commands.submit(command(app, id), to: key, request, context, status: status) { aggregate, _ in
            aggregate.state.sessions[id].map { SessionDocument(id, $0).jsonBytes } ?? []
        }
    }
}
