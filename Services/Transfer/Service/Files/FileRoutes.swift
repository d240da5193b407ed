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

/// The files of apps: files to upload and claimed downloads.
struct FileRoutes: Sendable {
    static let files = "/v1/devices/{device}/apps/{app}/files"

    let routes: TransferRoutes
    let files: AppFiles

    func add(to table: inout RouteTable) {
        table.add(
            .get, Self.files, "The files of an app", response: FileList.self, problems: .ofApp()
        ) { request, context in
            let (view, etag) = try await view(request, context)
            return Response(FileList(view.files), etag: etag)
        }
        let file = Self.files + "/{name}"
        table.add(
            .put, file, "Creates or replaces a file of an app", response: FileDocument.self, status: .created,
            problems: .ofApp(.tooManyFiles(limit: 64), .deviceFull) + [.bodyCut, .uploadTooLarge] + .ofStoring,
            takesContent: true
        ) { request, context in try await withStorage { try await put(request, context) } }
        for method in [HTTPRequest.Method.get, .head] {
            table.add(
                method, file, "The bytes of a file", bytes: "*/*",
                problems: .ofApp(.unknownFile("film")) + [.fileGone, .storageExhausted]
            ) { request, context in
                let name = try context.parameters.identifier("name")
                let (view, _) = try await view(request, context)
                guard let found = view.files[name] else { throw TransferRefusal.unknownFile(name).problem }
                return try await withStorage { try await files.answer(found, on: context.channel) }
            }
        }
        table.add(
            .delete, file, "Removes a file", status: .noContent, problems: .ofApp(.unknownFile("film"))
        ) { request, context in
            let (app, name) = (try context.parameters.identifier("app"), try context.parameters.identifier("name"))
            let key = AggregateKey.device(try context.parameters.identifier("device"))
            return try await routes.commands.submit(
                .removeFile(app: app, name: name), to: key, request, context, status: .noContent
            ) { _, _ in [] }
        }
    }

    private func put(_ request: Request, _ context: ServiceContext) async throws -> Response {
        let (app, name) = (try context.parameters.identifier("app"), try context.parameters.identifier("name"))
        let key = AggregateKey.device(try context.parameters.identifier("device"))
        // Refuses the request before the client sends the body.
        _ = try context.requireCaller(.operate)
        _ = try await view(request, context)
        var received = try await files.receive(request)
        received.contentType = request.headers[.contentType].flatMap { $0.utf8.count <= 255 ? $0 : nil }
        let file = received
        return try await files.keep(file) { naming in
            try await routes.commands.submit(
                .storeFile(app: app, name: name, file), to: key, request, context, status: .created,
                fingerprint: "\(file.sha256 ?? "") \(file.contentType ?? "")"
            ) { aggregate, _ in
                naming.done()
                return aggregate.state.apps[app]?.files[name].map { FileDocument(name, $0).jsonBytes } ?? []
            }
        }
    }

    private func view(_ request: Request, _ context: ServiceContext) async throws -> (AppView, ETag) {
        let app = try context.parameters.identifier("app")
        let (state, etag) = try await routes.read(request, context)
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

/// All files of an app.
struct FileList: Record {
    var items: [FileDocument] = []
    var next: Nullable<String> = nil

    init(_ files: OrderedDictionary<String, AppFile>) { items = files.map { FileDocument($0.key, $0.value) } }
}
