import AsyncHTTPClient
import Contracts
import NIOCore
import NIOHTTP1
import NIOSSL
import TransferMachine

/// A request as the daemon makes it: redirects followed without asking, every hop held to the allowed origins, challenges
/// answered by what the app gave.
struct Fetch: Sendable {
    /// Apple follows at most so many.
    static let redirectLimit = 20

    let origins: AllowedOrigins
    let request: FetchRequest
    /// How long the server may keep us waiting.
    let idleTimeout: TimeAmount
    /// What certificates are trusted by.
    var trustRoots = NIOSSLTrustRoots.default
    /// The device's network; nil where it has no shape.
    var shaper: Shaper?
    /// Asked about each challenge. By default the server's answer is taken as it is.
    var decide: ChallengeDecider = { _ in .acceptAnswer }
    /// Hears of each redirect before it is followed.
    var onRedirect: @Sendable (Redirect) async throws -> Void = { _ in }

    /// Sends it, and hands the last answer to `receive` while it arrives. The connection is closed when `receive` returns.
    ///
    /// - Throws: ``FetchFailure``, ``StorageError`` where the body can't be read, what the closures throw,
    ///   `CancellationError`.
    func run(_ receive: (HTTPClientResponse) async throws -> Void) async throws {
        var request = request
        var authenticator = Authenticator(decide)
        var trust = ServerTrust(decide)
        var redirects = 0
        var redirect: Redirect?
        while true {
            let destination = try request.destination()
            let connection = try Connection(
                to: destination, by: await origins.way(to: destination.origin),
                verifying: trust.verification(of: destination.origin),
                idleTimeout: idleTimeout, trustRoots: trustRoots, shaper: shaper)
            if let redirect { try await onRedirect(redirect) }
            redirect = nil
            if let field = authenticator.authorization(request.method, destination) {
                request.headers.replaceOrAdd(name: field.name, value: field.value)
            }
            let next: Next
            do {
                next = try await connection.exchange(request) { [request] response in
                    let status = Int(response.status.code)
                    // 101: another protocol, which nobody asked for.
                    guard status >= 200 else { throw FetchFailure(.connectionLost) }
                    if let redirect = Redirect(status: status, headers: response.headers, to: request) {
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

    /// What follows an answer.
    private enum Next {
        case end
        /// The same request, with what the server asked for.
        case again
        case redirect(Redirect)
    }
}
