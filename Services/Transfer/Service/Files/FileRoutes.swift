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

/// The files of apps: files to upload and claimed downloads.
struct FileRoutes: Sendable {
    static let files = "/v1/devices/{device}/apps/{app}/files"

    /// The bytes of a file without content.
    private static let lengths = 0...1_000_000_000_000

    let routes: TransferRoutes
    let files: AppFiles
    let quotas: FileQuotas
    let meter: QuotaMeter

    func add(to table: inout RouteTable) {
        table.add(.get, Self.files, "The files of an app", .refuses(.ofApp())) { call in
            let (view, etag) = try await view(call)
            return Reply(Page(view.files.map { FileDocument($0.key, $0.value) }), etag: etag)
        }
        let path = Self.files + "/{name}"
        table.add(
            .put, path, "Creates or replaces a file of an app", .takesContent, .status(.created),
            .parameters(
                .number(
                    "length", Self.lengths,
                    "The bytes of a file without content, for a built-in device with modelled transfers")),
            .refuses(
                .ofApp(.tooManyFiles(limit: 64), .deviceFull, .fileQuotaExceeded)
                    + [.bodyCut, .uploadTooLarge, .fleetFileQuota] + .ofStoring)
        ) { call in try await meter.watch { try await withStorage { try await put(call) } } }
        for method in [HTTPRequest.Method.get, .head] {
            table.add(
                method, path, "The bytes of a file", .bytes("*/*"),
                .refuses(.ofApp(.unknownFile("film")) + [.fileGone, .storageExhausted])
            ) { call in
                let name = try call.identifier("name")
                guard let found = try await view(call).0.files[name] else {
                    throw TransferRefusal.unknownFile(name).problem
                }
                return try await withStorage { try await files.answer(found, to: call) }
            }
        }
        table.add(.delete, path, "Removes a file", .refuses(.ofApp(.unknownFile("film")))) { call in
            let name = try call.identifier("name")
            return try await routes.commands.submit(.removeFile(app: call.app, name: name), call)
        }
    }

    private func put(_ call: Call) async throws -> Reply<FileDocument> {
        let (app, name) = (try call.app, try call.identifier("name"))
        // Refuses the request before the client sends the body.
        _ = try call.context.requireCaller(.operate)
        let (state, _) = try await routes.read(call) { $0.apps[app] != nil }
        guard let view = state.apps[app] else { throw TransferRefusal.appNotInstalled(app).problem }
        let isModelled = call.request.uri.queryParameters["length"] != nil
        if isModelled {
            let hasContent = call.request.headers[.contentLength].map { $0 != "0" } ?? false
            let fault =
                !state.modelsTransfers
                ? "is only for a built-in device with modelled transfers"
                : hasContent ? "is only for a request without content" : nil
            if let fault {
                throw Problem.invalidQuery.with(fieldErrors: [FieldError(pointer: "/length", detail: fault)])
            }
        }
        var arrival = quotas.arrival(for: try call.device, state, replacing: view.files[name])
        let naming = Naming()
        defer { arrival.end(isKept: naming.isDone) }
        var received =
            if isModelled {
                AppFiles.modelled(length: try call.number("length", default: 0))
            } else {
                try await files.receive(call.request, &arrival)
            }
        received.contentType = call.request.headers[.contentType].flatMap { $0.utf8.count <= 255 ? $0 : nil }
        let file = received
        return try await files.keep(file, naming) { naming in
            try await routes.commands.submit(
                .storeFile(app: app, name: name, file), call,
                fingerprint: "\(file.sha256 ?? "length \(file.length)") \(file.contentType ?? "")"
            ) { aggregate, _ in
                naming.done()
                return aggregate.state.apps[app]?.files[name].map { FileDocument(name, $0) }
            }
        }
    }

    private func view(_ call: Call) async throws -> (AppView, ETag) {
        let app = try call.app
        let (state, etag) = try await routes.read(call) { $0.apps[app] != nil }
        guard let view = state.apps[app] else { throw TransferRefusal.appNotInstalled(app).problem }
        return (view, etag)
    }
}

/// A file of an app.
struct FileDocument: Record {
    var contentType: Nullable<String> = nil
    var length = 0
    var name = ""
    var sha256: Nullable<String> = nil

    init(_ name: String, _ file: AppFile) {
        self.name = name
        length = file.length
        sha256 = file.sha256
        contentType = file.contentType
    }
}
