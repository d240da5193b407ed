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

// The calls on tasks.
extension TransferRoutes {
    func addTasks(_ table: inout RouteTable) {
        let session = Self.sessions + "/{identifier}"
        let path = session + "/tasks/{task}"
        table.add(
            .post, session + "/downloads", "Creates a download task, which is suspended unless resume is true",
            body: DownloadRequest.self, .secrets { $0.withoutSecretHeaders },
            .status(.created),
            .refuses(.ofNewTask + [TransferRefusal.unusableResumeData(.download).problem, .originNotAllowed])
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
                    TransferRefusal.unknownFile("film").problem, TransferRefusal.unusableResumeData(.upload).problem,
                    TransferRefusal.fileQuotaExceeded.problem, .originNotAllowed, .uploadIncomplete, .uploadGone,
                ] + .ofStoring)
        ) { body, call in try await files.uploads.meter.watch { try await upload(body, call) } }
        table.add(.get, path, "A task", .refuses(.ofDevice(.unknownTask(1)))) { call in
            let (found, etag) = try await findTask(call)
            return Reply(TaskDocument(found), etag: etag)
        }
        let actions: [(String, String, @Sendable (TaskKey) -> TransferCommand)] = [
            ("resume", "Starts a new task, or resumes a suspended one", { .resume($0) }),
            ("suspend", "Suspends a task", { .suspend($0) }), ("cancel", "Cancels a task", { .cancel($0) }),
            (
                "cancel-by-producing-resume-data",
                "Cancels a task; error.resumeData is set if a later task of the same kind can continue",
                { .cancelByProducingResumeData($0) }
            ),
        ]
        for (word, summary, command) in actions {
            let ofFeature = word.hasPrefix("cancel-by") ? [TransferRefusal.noResumableUploads.problem] : []
            table.add(
                .post, path + "/" + word, summary,
                .refuses(.ofCode(.unknownSession("s"), .unknownTask(1)) + ofFeature)
            ) { call in try await task(after: command(call.task), call) }
        }
        table.add(
            .post, path + "/claim", "Claims the file of a download for the app, now or when the download has finished",
            body: ClaimRequest.self,
            .refuses(.ofCode(.unknownSession("s"), .unknownTask(1), .nothingToClaim(1), .tooManyFiles(limit: 64)))
        ) { claim, call in try await task(after: .claim(call.task, name: claim.name), call) }
        table.add(
            .post, path + "/delayed-request",
            "Answers willBeginDelayedRequest: the task continues, gets another request, or is cancelled",
            body: DelayedRequestAnswer.self, .secrets { $0.changing("request") { $0.withoutSecretHeaders } },
            .refuses(
                .ofCode(
                    .unknownSession("s"), .unknownTask(1), .noDelayedRequest(1), .unsupportedURL, .deviceFull)
                    + [.originNotAllowed])
        ) { try await answer($0, $1) }
        table.add(
            .post, path + "/become-download", "Makes a data task a download task, which outlives its process",
            .refuses(.ofCode(.unknownSession("s"), .unknownTask(1)))
        ) { call in try await task(after: .becomeDownload(call.task), call) }
        table.add(
            .post, path + "/system-cancellation", "Cancels a task as the system does, with a reason",
            body: SystemCancellation.self, .refuses(.ofApp(.unknownSession("s"), .unknownTask(1)))
        ) { cancellation, call in try await task(after: .cancelBySystem(call.task, cancellation.reason), call) }
        table.add(
            .post, path + "/redirect", "Answers willPerformHTTPRedirection: the task follows the redirect or not",
            body: RedirectAnswer.self, .refuses(.ofCode(.unknownSession("s"), .unknownTask(1), .noRedirect(1)))
        ) { answer, call in try await task(after: .answerRedirect(call.task, answer.disposition), call) }
        table.add(
            .get, path + "/file", "The file that a task has downloaded, or the response body of an upload",
            .bytes("*/*"), .refuses(.ofDevice(.unknownTask(1)) + [.fileNotReady, .fileGone, .storageExhausted])
        ) { try await file($0) }
    }

    /// Returns the refusal of a URL whose origin is not allowed. Modelled transfers contact no origin.
    private func refusal(of url: String?, _ call: Call) async throws -> Problem? {
        guard let origin = url.flatMap({ WebOrigin(url: $0) }), !origins.mayFetch(origin) else { return nil }
        if try await readForCommand(call, suffices: \.modelsTransfers).state?.modelsTransfers == true { return nil }
        return .originNotAllowed.with(detail: "ALLOWED_ORIGINS does not include \(origin).")
    }

    private func upload(_ upload: UploadRequest, _ call: Call) async throws -> Reply<TaskDocument> {
        let caller = try call.context.requireCaller(.operate)
        var (source, problem) = (upload.file.map { UploadSource.file($0) }, Problem?.none)
        do {
            source = try await withStorage {
                if let file = upload.file { try await files.source(file, for: caller) } else { nil }
            }
        } catch let fault as Problem { problem = fault }
        let found = (source, problem)
        return try await files.keep(source?.body ?? AppFile()) { file in
            try await create(upload.url, upload.headers, call, problem: found.1, naming: file) { secret in
                try upload.command(app: call.app, session: call.session, found.0, secretHeaders: secret)
            }
        }
    }

    private func answer(_ answer: DelayedRequestAnswer, _ call: Call) async throws -> Reply<TaskDocument> {
        try answer.requireSense()
        let task = try call.task
        let fields = answer.request?.headers ?? [:]
        return try await keep(fields, of: answer.request?.url, call) { secret, problem, naming in
            let command = TransferCommand.answerDelayedRequest(
                task, answer.disposition, answer.request?.newRequest(secretHeaders: secret))
            return try await commands.submit(command, call, problem: problem) { aggregate, _ in
                naming.done()
                return aggregate.state.task(task).map { TaskDocument($0) }
            }
        }
    }

    private func create(
        _ url: String?, _ fields: OrderedDictionary<String, String>, _ call: Call, problem: Problem? = nil,
        naming file: Naming? = nil, _ command: (_ secretHeaders: String?) throws -> TransferCommand
    ) async throws -> Reply<TaskDocument> {
        try await keep(fields, of: url, call, problem: problem) { secret, problem, naming in
            let session = try call.sessionKey
            return try await commands.submit(try command(secret), call, problem: problem) { aggregate, _ in
                file?.done()
                naming.done()
                return aggregate.state[session]?.tasks.last.map { TaskDocument($0) }
            }
        }
    }

    /// Keeps the secret fields of a request while a command takes it.
    ///
    /// A repeated request gets its first answer, even if its upload is gone, its origin is no longer allowed or its
    /// device was removed. So the refusal goes with the command.
    private func keep<Answer>(
        _ fields: OrderedDictionary<String, String>, of url: String?, _ call: Call, problem: Problem? = nil,
        _ command: (_ secretHeaders: String?, _ problem: Problem?, Naming) async throws -> Answer
    ) async throws -> Answer {
        let secret = fields.separated.secret
        var problem = try await refusal(of: url, call) ?? problem
        if secret != nil {
            _ = try call.context.requireCaller(.operate)
            // Nothing is stored for a caller without access to the device.
            if problem == nil { problem = try await readForCommand(call).problem }
        }
        let refused = problem
        return try await headers.keep(refused == nil ? secret : nil, call) { try await command($0, refused, $1) }
    }

    /// Sends the bytes of all attempts as one file.
    private func file(_ call: Call) async throws -> Response {
        let (task, _) = try await findTask(call)
        guard task.state == .completed, task.error == nil, task.sha256 != nil else { throw Problem.fileNotReady }
        guard task.fate != .gone else {
            throw Problem.fileGone.with(
                detail: "didFinishDownloadingTo has returned, and the app did not claim the file.")
        }
        return try await withStorage { try await files.answer(task.receivedFile, to: call) }
    }
}
