import Contracts
import Records

/// An app's answer to `willPerformHTTPRedirection`.
struct RedirectAnswer: Record, Equatable {
    var disposition = RedirectDisposition.follow
}
