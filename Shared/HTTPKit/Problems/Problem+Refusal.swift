public import HTTPTypes
public import Machines

extension MachineRefusal {
    /// The problem document of the refusal.
    public var problem: Problem { Problem(reason.kind.status, code, reason.title, detail: reason.detail) }
}

extension HTTPResponse.Status {
    /// RFC 4918 section 11.5.
    public static let insufficientStorage = HTTPResponse.Status(code: 507, reasonPhrase: "Insufficient Storage")
}

extension RefusalReason.Kind {
    fileprivate var status: HTTPResponse.Status {
        switch self {
        case .invalid: .badRequest
        case .unprocessable: .unprocessableContent
        case .notFound: .notFound
        case .conflict: .conflict
        case .noSpace: .insufficientStorage
        case .gone: .gone
        case .unreadable: .internalServerError
        }
    }
}
