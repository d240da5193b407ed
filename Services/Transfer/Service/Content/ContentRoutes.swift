import HTTPTypes
import Hummingbird
import Logging
import Records
import Runtime
import ServiceKit
import Timeline

/// The other end of downloads: `/content/{path}`.
///
/// Reading is open to all, other than every other call: clients that nobody here wrote fetch from it as from any server of
/// files, and a credential in the headers of a download task would end up in the log. Operators alone put anything there.
struct ContentRoutes: Sendable {
    let storage: any Storage
    let table: ContentTable
    let counts: ByteCounts
    let clock: any SuiteClock
    let logger: Logger

    func add(to table: inout RouteTable) {
        let path = ContentPath.prefix + "{path}"
        // A description knows no paths of several segments: it has the one, and says of it that it stands for both.
        for (path, isDescribed) in [(path, true), (path + "/**", false)] {
            table.add(
                .put, path, "Puts a file there, in place of another", access: .scope(.operate),
                parameters: [Self.path] + Self.preconditions, response: ContentDocument.self, status: .created,
                further: [.ok], problems: .ofStoring + [.invalidPath, .invalidHeader, .bodyCut, .preconditionFailed],
                isDescribed: isDescribed, takesContent: true
            ) { request, context in try await withStorage { try await put(request, context) } }
            table.add(
                .delete, path, "Removes a file", access: .scope(.operate), parameters: [Self.path] + Self.preconditions,
                status: .noContent, problems: [.invalidPath, .notFound, .preconditionFailed], isDescribed: isDescribed
            ) { try await delete($0, $1) }
            for method in [HTTPRequest.Method.get, .head] {
                table.add(
                    method, path, "A file, or ranges of it", access: .open,
                    parameters: [Self.path] + Self.preconditions + Self.wishes,
                    further: method == .get ? [.partialContent] : [], bytes: "*/*",
                    problems: Self.problems(of: method), isDescribed: isDescribed, unknownQuery: .ignored
                ) { request, context in try await withStorage { try await get(request, context) } }
            }
        }
        for method in [HTTPRequest.Method.post, .patch] {
            table.add(method, path + "/**", "Is not there", access: .open, isDescribed: false, unknownQuery: .ignored) {
                _, _ in
                var problem = Problem.methodNotAllowed
                problem.headers[.allow] = "DELETE, GET, HEAD, PUT"
                throw problem
            }
        }
    }

    /// It needs the database, though no credential.
    private static func problems(of read: HTTPRequest.Method) -> [Problem] {
        [.invalidPath, .notFound, .preconditionFailed, .storageExhausted, Problem(.databaseUnavailable)]
            + (read == .get ? [.rangeNotSatisfiable] : [])
    }

    private static let path = RouteParameter(
        "path", in: .path, "One segment, or several with slashes between them, such as films/summer.mp4",
        ["type": "string", "minLength": 1, "maxLength": .int(ContentPath.longest)])

    private static let preconditions = [
        header("If-Match", "Tags of which one must be the file's; * where there must be a file"),
        header("If-None-Match", "Tags of which none may be the file's; * where there may be no file"),
        header("If-Unmodified-Since", "Heeded without If-Match"),
    ]

    private static let wishes = [
        header("If-Modified-Since", "Heeded without If-None-Match"),
        header("Range", "For example bytes=0-99,-1; at most \(ByteRanges.limit) ranges. HEAD does not heed it"),
        header("If-Range", "A strong tag or the very date of the file without which Range is not heeded"),
        header("Want-Repr-Digest", "For example sha-512=3, sha-256=10: Repr-Digest is sent"),
        header("Want-Content-Digest", "As Want-Repr-Digest: Content-Digest is sent"),
    ]

    private static func header(_ name: String, _ summary: String) -> RouteParameter {
        RouteParameter(name, in: .header, summary, ["type": "string"])
    }

    /// Removes a file that no path names any more. Whoever reads it reads on.
    func discard(_ file: String) async {
        do { try await storage.remove(file, from: .contents) } catch {
            // Only its space is lost.
            logger.warning("a file of a content could not be removed", metadata: ["error": "\(error)"])
        }
    }
}
