import Contracts
import HTTPKit
import OrderedCollections
import Records
import TransferCore

/// An app's answer to `willBeginDelayedRequest`.
struct DelayedRequestAnswer: Record, Equatable {
    var disposition = DelayedRequestDisposition.continueLoading
    /// The request that replaces the delayed one, for `useNewRequest`.
    var request: NewRequestDocument?

    /// - Throws: `invalid_document` if disposition and request do not fit.
    func requireSense() throws(Problem) {
        switch (disposition, request) {
        case (.useNewRequest, nil): throw .invalidDocument.with(detail: "request: required for useNewRequest")
        case (.continueLoading, _?), (.cancel, _?):
            throw .invalidDocument.with(detail: "request: allowed for useNewRequest only")
        case (.useNewRequest, _?), (_, nil): return
        }
    }
}

/// A new request of a delayed task. Its method, body and dates stay those of the task.
struct NewRequestDocument: Record, Equatable {
    /// The header fields of the request. The log contains neither `Authorization` nor `Cookie`.
    var headers: Defaulted<OrderedDictionary<String, String>> = [:]
    var url = ""

    enum Constraints {
        static let headers: Constraint<OrderedDictionary<String, String>> = .taskHeaders
        static let url: Constraint<String> = .text(1...2048)
    }

    func newRequest(secretHeaders: String?) -> NewRequest {
        NewRequest(url: url, headers: headers.separated.open, secretHeaders: secretHeaders)
    }
}
