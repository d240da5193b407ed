import HTTPKit
import HTTPTypes
import Records

/// The current file of a path.
struct ContentDocument: Record {
    var etag = ""
    var path = ""
    var sha256 = ""
    var size = 0

    init(_ content: StoredContent) {
        path = content.path
        size = content.size
        etag = content.etag
        sha256 = content.sha256
    }
}

extension Problem {
    static let rangeNotSatisfiable = Problem(
        .rangeNotSatisfiable, "range_not_satisfiable", "Range is outside the file")
    static let invalidPath = Problem(
        .badRequest, "invalid_path", "Path is not valid",
        detail: "A path has at most 1024 bytes, in segments of 1 to 255 bytes.")
    static let bodyCut = Problem(
        .badRequest, "body_cut", "Request body is cut off", detail: "Nothing is stored. Send the whole body again.")
    static let contentChanged = Problem.preconditionFailed.with(detail: "The file does not meet the preconditions.")

    /// Returns the problem with the size, so that the client can correct its range.
    static func rangeNotSatisfiable(size: Int) -> Problem {
        var problem = rangeNotSatisfiable
        problem.headers[.contentRange] = "bytes */\(size)"
        problem.headers[.acceptRanges] = "bytes"
        return problem
    }
}
