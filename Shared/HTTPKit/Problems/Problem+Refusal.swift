import HTTPTypes
public import Machines

extension MachineRefusal {
    /// The problem document of the refusal.
    public var problem: Problem { Problem(reason.kind.status, code, reason.title, detail: reason.detail) }
}

extension RefusalReason.Kind {
    fileprivate var status: HTTPResponse.Status {
        switch self {
        case .invalid: .badRequest
        case .unprocessable: .unprocessableContent
        case .notFound: .notFound
        case .conflict: .conflict
        case .gone: .gone
        case .unreadable: .internalServerError
        }
    }
}
