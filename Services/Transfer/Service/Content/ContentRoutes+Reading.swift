import HTTPKit
import Hummingbird
import Timeline

extension ContentRoutes {
    func get(_ call: Call) async throws -> Response {
        let (content, file) = try await find(try ContentPath(target: call.request.uri.path).text)
        let piece = FilePiece(file: file, range: 0..<max(0, content.size))
        let representation = Representation(
            pieces: [piece], contentType: content.contentType, validators: .init(content),
            onSent: { [counts] in counts.sent($0, by: .content) },
            digest: { try await $0.field(of: content, piece) })
        return try await representation.response(to: call.request, on: call.context.channel, now: clock.now)
    }

    /// Returns the row of a path and its open file. Reads the row again if the file was replaced meanwhile.
    ///
    /// - Throws: `not_found`; `StorageError.missing` if the file is lost.
    private func find(_ path: String) async throws -> (StoredContent, any StoredFile) {
        var lost: String?
        while true {
            guard let content = try await store.content(path) else { throw Problem.notFound }
            do { return (content, try await storage.open(content.file, in: .contents)) } catch StorageError.missing
                where content.file != lost
            { lost = content.file }
        }
    }
}
