import Contracts
import Foundation
import NIOHTTP1
import Synchronization

/// A request as its connection knows it.
struct RunningRequest: Sendable {
    /// Called with each interim response (RFC 9110 section 15.2). It must not block.
    typealias Listener = @Sendable (HTTPResponseHead) -> Void

    var onInterim: Listener?
    /// Nil without a body.
    var flow: BodyFlow?
}

/// The requests that are under way. The HTTP client tells a connection nothing but the head of its request.
final class RunningRequests: Sendable {
    /// The header field that names a request. ``RequestHandler`` removes it before the request is sent.
    static let field = "Dormouse-Request"

    private let requests = Mutex<[String: RunningRequest]>([:])

    /// Adds a request and returns its name. No other request can guess it.
    func add(_ request: RunningRequest) -> String {
        let name = UUID().lowercased
        requests.withLock { $0[name] = request }
        return name
    }

    func remove(_ name: String) { requests.withLock { $0[name] = nil } }

    subscript(_ name: String) -> RunningRequest? { requests.withLock { $0[name] } }
}
