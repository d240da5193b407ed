import AsyncHTTPClient
import Contracts
import NIOCore
import NIOHTTP1
import NIOSSL
import TransferCore

/// A request as the daemon makes it. It follows redirects, checks every hop against the allowed origins, and answers
/// challenges with the app's credentials.
struct HTTPFetch: Sendable {
    /// The largest number of redirects, as on Apple's platforms.
    static let redirectLimit = 20

    let origins: AllowedOrigins
    let request: FetchRequest
    /// The longest time without progress of the server.
    let idleTimeout: TimeAmount
    /// The certificate authorities to trust.
    var trustRoots = NIOSSLTrustRoots.default
    /// The device's network; nil without a shape.
    var shaper: Shaper?
    /// Decides about each challenge. By default, the server's response is the result.
    var decide: ChallengeDecider = { _ in .acceptAnswer }
    /// Called before a redirect is followed.
    var onRedirect: @Sendable (Redirect) async throws -> Void = { _ in }
    /// The number of followed redirects after which the response of the next one is the result; nil to follow all.
    var refusedRedirect: Int?
    /// Called with each interim response to a request for the URL. It must not block.
    var onInterim: (@Sendable (HTTPResponseHead, _ url: String) -> Void)?

    /// Sends the request and calls `receive` with the last response while it arrives. Then closes the connection.
    ///
    /// - Throws: ``FetchFailure``, ``StorageError`` if the body can't be read, the errors of the closures,
    ///   `CancellationError`.
    func run(_ receive: (HTTPClientResponse) async throws -> Void) async throws {
        var request = request
        var authenticator = Authenticator(decide)
        var trust = ServerTrust(decide)
        var redirects = 0
        var redirect: Redirect?
        while true {
            let destination = try request.destination()
            let connection = try OriginConnection(
                to: destination, by: await origins.way(to: destination.origin),
                verifying: trust.verification(of: destination.origin),
                idleTimeout: idleTimeout, trustRoots: trustRoots, shaper: shaper)
            if let redirect { try await onRedirect(redirect) }
            redirect = nil
            if let field = authenticator.authorization(request.method, destination) {
                request.headers.replaceOrAdd(name: field.name, value: field.value)
            }
            if let onInterim {
                let url = request.url
                request.onInterim = { interim in onInterim(interim, url) }
            }
            let next: Next
            do {
                next = try await connection.exchange(request) { [request] response in
                    let status = Int(response.status.code)
                    // 101 switches to another protocol, which the request did not ask for.
                    guard status >= 200 else { throw FetchFailure(.connectionLost) }
                    if redirects != refusedRedirect,
                        let redirect = Redirect(status: status, headers: response.headers, to: request)
                    {
                        return .redirect(redirect)
                    }
                    if try await authenticator.answers(status, response.headers, from: destination.origin) {
                        return .again
                    }
                    try await receive(response)
                    return .end
                }
            } catch let certificate as PeerCertificate {
                try await trust.consider(certificate, of: destination.origin)
                continue
            }
            switch next {
            case .end: return
            case .again: break
            case .redirect(let target):
                guard redirects < Self.redirectLimit else { throw FetchFailure(.tooManyRedirects) }
                redirects += 1
                if target.crossesOrigins { authenticator.forget() }
                request = request.following(target)
                redirect = target
            }
        }
    }

    /// The next step after a response.
    private enum Next {
        case end
        /// The same request with an answer to the challenge.
        case again
        case redirect(Redirect)
    }
}
