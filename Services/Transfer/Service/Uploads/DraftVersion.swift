import HTTPTypes
import ServiceKit

/// The interop versions of draft-ietf-httpbis-resumable-upload that are spoken here, and what they differ in.
enum DraftVersion: String, Sendable, CaseIterable {
    /// Draft 01.
    case three = "3"
    /// Draft 03.
    case five = "5"
    /// Drafts 04 and 05.
    case six = "6"
    /// Draft 08.
    case eight = "8"

    /// Who names no version gets the newest.
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

    /// Whether the request's content is, or would be, the end of the upload; nil where the client does not say.
    func completes(_ headers: HTTPFields) -> Bool? {
        let (name, yes, no) =
            self == .three ? (.uploadIncomplete, "?0", "?1") : (HTTPField.Name.uploadComplete, "?1", "?0")
        return switch headers[name] {
        case yes: true
        case no: false
        default: nil
        }
    }

    /// Says whether an upload is complete.
    func tell(_ isComplete: Bool, in headers: inout HTTPFields) {
        switch self {
        case .three: headers[.uploadIncomplete] = isComplete ? "?0" : "?1"
        case .five, .six, .eight: headers[.uploadComplete] = isComplete ? "?1" : "?0"
        }
    }

    /// Whether appended bytes have a media type of their own, and lengths and limits are told.
    var knowsPartialUpload: Bool { self == .six || self == .eight }

    /// What an append that does not complete the upload is answered.
    var appended: HTTPResponse.Status { knowsPartialUpload ? .noContent : .created }

    /// Whether HEAD must not say what only its answer can know.
    var refusesStateInHead: Bool { self != .eight }

    /// The name of the remaining lifetime in `Upload-Limit`.
    var age: String { self == .eight ? "max-age" : "expires" }
}
