import Contracts
import HTTPKit
import HTTPTypes

// The headers in which the versions of the draft differ. Server and client use them.
extension UploadDraftVersion {
    /// Reads the version of a request; the newest if the request names none.
    ///
    /// - Throws: `upload_draft_version`.
    init(_ headers: HTTPFields) throws(Problem) {
        guard let text = headers[.draftVersion] else {
            self = .eight
            return
        }
        guard let version = Self(rawValue: text) else { throw .draftVersion }
        self = version
    }

    /// The header that says whether an upload is complete, with its values.
    var completion: (name: HTTPField.Name, yes: String, no: String) {
        self == .three ? (.uploadIncomplete, "?0", "?1") : (.uploadComplete, "?1", "?0")
    }

    /// Whether the end of the request's body is the end of the upload; nil if no header says it.
    func completes(_ headers: HTTPFields) -> Bool? { completes(headers[completion.name]) }

    /// Reads the value of the header of ``completion``.
    func completes(_ value: String?) -> Bool? {
        switch value {
        case completion.yes: true
        case completion.no: false
        default: nil
        }
    }

    /// Writes the header that says whether an upload is complete.
    func tell(_ isComplete: Bool, in headers: inout HTTPFields) {
        headers[completion.name] = isComplete ? completion.yes : completion.no
    }

    /// The status of an append that does not complete the upload.
    var appended: HTTPResponse.Status { knowsPartialUpload ? .noContent : .created }

    /// Whether HEAD is refused if it has headers of the upload's state.
    var refusesStateInHead: Bool { self != .eight }

    /// The name of the remaining lifetime in `Upload-Limit`.
    var age: String { self == .eight ? "max-age" : "expires" }
}
