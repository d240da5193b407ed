import Contracts
import HTTPTypes
import Hummingbird
import Machines
import OrderedCollections
import Records
import ServiceKit
import TransferMachine

/// The REST calls of `transfer`. Each decodes, makes one command, and encodes.
struct TransferRoutes: Sendable {
    static let sessions = "/v1/devices/{device}/apps/{app}/sessions"

    let commands: Commands<TransferMachine>
    let storage: Storage
    let origins: AllowedOrigins

    func add(to table: inout RouteTable) {
        addSessions(&table)
        addTasks(&table)
    }

    private func addSessions(_ table: inout RouteTable) {
        let session = Self.sessions + "/{identifier}"
        table.add(
            .put, session, "Creates a background session, or attaches to it", request: SessionConfiguration.self,
            response: SessionDocument.self
        ) { request, context in
            let configuration = try await request.document(as: SessionConfiguration.self)
            return try await submitToSession(request, context) {
                .openSession(app: $0, session: $1, configuration)
            }
        }
        table.add(.get, session, "A session with its tasks", response: SessionDocument.self) { request, context in
            let (app, id) = (try context.parameters.identifier("app"), try context.parameters.identifier("identifier"))
            let (state, etag) = try await read(request, context)
            guard let found = state.sessions[id], found.app == app else {
                throw TransferRefusal.unknownSession(id).problem
            }
            return Response(SessionDocument(id, found), etag: etag)
        }
        table.add(.get, Self.sessions, "The sessions of an app", response: SessionList.self) { request, context in
            let app = try context.parameters.identifier("app")
            let (state, etag) = try await read(request, context)
            return Response(SessionList(state, of: app), etag: etag)
        }
        for (word, cancels) in [("finish-tasks-and-invalidate", false), ("invalidate-and-cancel", true)] {
            table.add(.post, session + "/" + word, "Invalidates a session", status: .noContent) { request, context in
                try await submitToSession(request, context, status: .noContent) {
                    .invalidateSession(app: $0, session: $1, cancels: cancels)
                }
            }
        }
    }

    private func addTasks(_ table: inout RouteTable) {
        let session = Self.sessions + "/{identifier}"
        let task = session + "/tasks/{task}"
        table.add(
            .post, session + "/downloads", "Creates a download task, which begins at once",
            request: DownloadRequest.self, response: TaskDocument.self, status: .created,
            problems: [.originNotAllowed]
        ) { request, context in
            let download = try await request.document(as: DownloadRequest.self)
            if let origin = WebOrigin(url: download.url), !origins.mayFetch(origin) {
                throw Problem.originNotAllowed.because("\(origin) may not be fetched from")
            }
            let (app, id) = (try context.parameters.identifier("app"), try context.parameters.identifier("identifier"))
            let key = AggregateKey.device(try context.parameters.identifier("device"))
            return try await commands.submit(
                .download(app: app, session: id, download), to: key, request, context, status: .created
            ) { aggregate, _ in
                aggregate.state.sessions[id]?.tasks.last.map { TaskDocument($0).jsonBytes } ?? []
            }
        }
        table.add(.get, task, "A task", response: TaskDocument.self) { request, context in
            let (found, etag) = try await findTask(request, context)
            return Response(TaskDocument(found), etag: etag)
        }
        let actions: [(String, String, @Sendable (TaskPlace) -> TransferCommand)] = [
            ("resume", "Resumes a suspended task", { .resume($0) }),
            ("suspend", "Suspends a task", { .suspend($0) }), ("cancel", "Cancels a task", { .cancel($0) }),
        ]
        for (word, summary, command) in actions {
            table.add(.post, task + "/" + word, summary, response: TaskDocument.self) { request, context in
                let place = try taskPlace(context)
                let key = AggregateKey.device(try context.parameters.identifier("device"))
                return try await commands.submit(command(place), to: key, request, context) { aggregate, _ in
                    aggregate.state.task(place).map { TaskDocument($0).jsonBytes } ?? []
                }
            }
        }
        table.add(.get, task + "/file", "The file that a task has downloaded", problems: [.fileNotReady, .fileGone]) {
            try await file($0, $1)
        }
    }

    /// The bytes of all the attempts, one after the other.
    private func file(_ request: Request, _ context: ServiceContext) async throws -> Response {
        let (task, _) = try await findTask(request, context)
        guard task.state == .completed, task.error == nil, let sha256 = task.sha256 else { throw Problem.fileNotReady }
        var pieces: [BodyPiece] = []
        do {
            for segment in task.segments where segment.length > 0 {
                let file = try await storage.open(task.segmentName(segment), in: .segments)
                pieces.append(.file(FilePiece(file: file, range: 0..<segment.length)))
            }
        } catch StorageError.missing { throw Problem.fileGone }
        return Response(
            status: .ok,
            headers: [
                .contentType: task.response?.contentType ?? "application/octet-stream",
                .eTag: "\"\(sha256.prefix(32))\"",
            ], body: body(of: pieces))
    }

    private func taskPlace(_ context: ServiceContext) throws(Problem) -> TaskPlace {
        let app = try context.parameters.identifier("app")
        let session = try context.parameters.identifier("identifier")
        guard let task = Int(try context.parameters.identifier("task")), task > 0 else { throw .notFound }
        return TaskPlace(app: app, session: session, task: task)
    }

    private func findTask(_ request: Request, _ context: ServiceContext) async throws -> (TransferTask, ETag) {
        let place = try taskPlace(context)
        let (state, etag) = try await read(request, context)
        guard let task = state.task(place) else { throw TransferRefusal.unknownTask(place.task).problem }
        return (task, etag)
    }

    private func read(_ request: Request, _ context: ServiceContext) async throws -> (TransferMachine, ETag) {
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
