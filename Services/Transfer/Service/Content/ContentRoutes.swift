import HTTPKit
import HTTPTypes
import Hummingbird
import Identity
import Logging
import Records
import Runtime
import Timeline

/// The origin for downloads: `/content/{path}`.
///
/// Only these reads need no credential: stock HTTP clients read files here, and a credential in the headers of a
/// download task would be in the log. Only operators may write.
struct ContentRoutes: Sendable {
    let storage: any Storage
    let store: TransferStore
    let counts: ByteCounts
    let clock: any SuiteClock
    let logger: Logger

    func add(to table: inout RouteTable) {
        let path = ContentPath.prefix + "{path}"
        // OpenAPI has no parameter of several segments, so the description has only the first of these routes.
        for (path, isDescribed) in [(path, true), (path + "/**", false)] {
            table.add(
                .put, path, "Creates or replaces a file", .scope(.operate), .described(isDescribed), .takesContent,
                .parameters([Self.path] + Self.preconditions), .status(.created, .ok),
                .refuses(.ofStoring + [.invalidPath, .invalidHeader, .bodyCut, .preconditionFailed])
            ) { call in try await withStorage { try await put(call) } }
            table.add(
                .delete, path, "Removes a file", .scope(.operate), .described(isDescribed),
                .parameters([Self.path] + Self.preconditions), .refuses([.invalidPath, .notFound, .preconditionFailed])
            ) { try await delete($0) }
            for method in [HTTPRequest.Method.get, .head] {
                table.add(
                    method, path, "A file, or ranges of it", .open, .described(isDescribed), .unknownQuery(.ignored),
                    .parameters([Self.path] + Self.preconditions + Self.wishes), .bytes("*/*"),
                    .status([.ok] + (method == .get ? [.partialContent] : [])), .refuses(Self.problems(of: method))
                ) { call in try await withStorage { try await get(call) } }
            }
        }
        for method in [HTTPRequest.Method.post, .patch] {
            table.add(method, path + "/**", "Answers 405", .open, .described(false), .unknownQuery(.ignored)) {
                _ -> Response in
                var problem = Problem.methodNotAllowed
                problem.headers[.allow] = "DELETE, GET, HEAD, PUT"
                throw problem
            }
        }
    }

    /// Returns the problems of a read, which needs the database but no credential.
    private static func problems(of read: HTTPRequest.Method) -> [Problem] {
        [.invalidPath, .notFound, .preconditionFailed, .storageExhausted, Problem(.databaseUnavailable)]
            + (read == .get ? [.rangeNotSatisfiable] : [])
    }

    private static let path = RouteParameter(
        "path", in: .path, "One segment, or several separated by slashes, such as films/summer.mp4",
        ["type": "string", "minLength": 1, "maxLength": .int(ContentPath.longest)])

    private static let preconditions = [
        header("If-Match", "Entity tags, one of which must be the file's; * requires a file"),
        header("If-None-Match", "Entity tags, none of which may be the file's; * requires that no file exists"),
        header("If-Unmodified-Since", "Ignored if If-Match is present"),
    ]

    private static let wishes = [
        header("If-Modified-Since", "Ignored if If-None-Match is present"),
        header("Range", "For example bytes=0-99,-1; at most \(ByteRanges.limit) ranges; HEAD ignores it"),
        header("If-Range", "Range is ignored unless this is the strong tag or the exact date of the file"),
        header("Want-Repr-Digest", "For example sha-512=3, sha-256=10; the answer has Repr-Digest"),
        header("Want-Content-Digest", "As Want-Repr-Digest; the answer has Content-Digest"),
    ]

    private static func header(_ name: String, _ summary: String) -> RouteParameter {
        RouteParameter(name, in: .header, summary, ["type": "string"])
    }

    /// Moves a file that no path refers to to the trash. Open files stay readable.
    func discard(_ file: String) async {
        do { try await storage.discard(file, from: .contents) } catch {
            // The file only wastes space.
            logger.warning("failed to trash a file of content, the sweep will retry", error: error)
        }
    }
}
