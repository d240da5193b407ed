import HTTPTypes
import Records
import ServiceKit

/// What a path holds now.
struct ContentDocument: Record {
    var path = ""
    var size = 0
    var etag = ""
    var sha256 = ""

    init() {}

    init(_ content: StoredContent) {
        path = content.path
        size = content.size
        etag = content.etag
        sha256 = content.sha256
    }

    mutating func visit<V: FieldVisitor>(_ fields: inout V) {
        fields.field("etag", &etag)
        fields.field("path", &path)
        fields.field("sha256", &sha256)
        fields.field("size", &size)
    }
}

extension Problem {
    static let rangeNotSatisfiable = Problem(
        .rangeNotSatisfiable, "range_not_satisfiable", "None of the ranges is in the file")
    static let invalidPath = Problem(
        .badRequest, "invalid_path", "A path is segments of 1 to 255 bytes with slashes between, at most 1024 bytes")
    static let bodyCut = Problem(.badRequest, "body_cut", "The body ended before its length")
    /// The title tells what all preconditions have in common, not only `If-Match`.
    static let contentChanged = Problem.preconditionFailed.because(
        "what is there is not what the preconditions ask for")

    /// With the size, so that the client can ask again.
    static func rangeNotSatisfiable(size: Int) -> Problem {
        var problem = rangeNotSatisfiable
        problem.headers[.contentRange] = "bytes */\(size)"
        problem.headers[.acceptRanges] = "bytes"
        return problem
    }
}
