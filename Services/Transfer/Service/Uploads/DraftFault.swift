import Contracts
import HTTPKit
import Hummingbird
import NIOCore
import Records

/// A problem for which draft-ietf-httpbis-resumable-upload registers a type.
struct DraftFault: Error {
    private static let types = "https://iana.org/assignments/http-problem-types#"

    private let problem: Problem
    private let type: String
    private var more: [JSON.Member] = []

    /// The client's offset is not the end of the upload.
    static func mismatchingOffset(_ provided: Int, of upload: Upload, _ version: UploadDraftVersion) -> DraftFault {
        var problem = Problem.mismatchingOffset
        problem.headers[.uploadOffset] = String(upload.received)
        version.tell(upload.isComplete, in: &problem.headers)
        return DraftFault(
            problem: problem, type: "mismatching-upload-offset",
            more: [
                JSON.Member("expected-offset", .int(upload.received)), JSON.Member("provided-offset", .int(provided)),
            ])
    }

    static let completed = DraftFault(problem: .uploadCompleted, type: "completed-upload")
    static let inconsistentLength = DraftFault(problem: .inconsistentLength, type: "inconsistent-upload-length")

    /// The problem document with the draft's type.
    var response: Response {
        var response = Response(problem: problem)
        let json: JSON = [
            "type": .string(Self.types + type), "title": .string(problem.title), "status": .int(problem.status.code),
            "code": .string(problem.code),
        ]
        let members = (json.members ?? []) + more
        response.body = .init(byteBuffer: ByteBuffer(bytes: JSON.object(members).bytes))
        return response
    }
}
