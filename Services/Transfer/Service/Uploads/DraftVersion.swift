import HTTPKit
import HTTPTypes

/// The supported interop versions of draft-ietf-httpbis-resumable-upload, and their differences.
enum DraftVersion: String, Sendable, CaseIterable {
    /// Draft 01.
    case three = "3"
    /// Draft 03.
    case five = "5"
    /// Drafts 04 and 05.
    case six = "6"
    /// Draft 08.
    case eight = "8"

    /// Reads the version of a request; the newest if the request names none.
    ///
    /// - Throws: `upload_draft_version`.
    init(_ headers: HTTPFields) throws(Problem) {
        guard let text = headers[.draftVersion] else {
            self = .eight
            return
        }
        guard let version = DraftVersion(rawValue: text) else { throw .draftVersion }
        self = version
    }

    /// Whether the end of the request's body is the end of the upload; nil if no header says it.
    func completes(_ headers: HTTPFields) -> Bool? {
        let (name, yes, no) =
            self == .three ? (.uploadIncomplete, "?0", "?1") : (HTTPField.Name.uploadComplete, "?1", "?0")
        return switch headers[name] {
        case yes: true
        case no: false
        default: nil
        }
    }

    /// Writes the header that says whether an upload is complete.
    func tell(_ isComplete: Bool, in headers: inout HTTPFields) {
        switch self {
        case .three: headers[.uploadIncomplete] = isComplete ? "?0" : "?1"
        case .five, .six, .eight: headers[.uploadComplete] = isComplete ? "?1" : "?0"
        }
    }

    /// Whether PATCH has its own media type, and answers contain length and limits.
    var knowsPartialUpload: Bool { self == .six || self == .eight }

    /// The status of an append that does not complete the upload.
    var appended: HTTPResponse.Status { knowsPartialUpload ? .noContent : .created }

    /// Whether HEAD is refused if it has headers of the upload's state.
    var refusesStateInHead: Bool { self != .eight }

    /// The name of the remaining lifetime in `Upload-Limit`.
    var age: String { self == .eight ? "max-age" : "expires" }
}
