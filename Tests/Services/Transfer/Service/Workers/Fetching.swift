import AsyncHTTPClient
import Contracts
import NIOCore
import NIOHTTP1
import NIOSSL
import Synchronization
import TestSupport
import TransferCore

@testable import TransferService

/// A fetch that records its events.
struct Fetching: Sendable {
    var origins: AllowedOrigins
    var request: FetchRequest
    var idle = TimeAmount.seconds(20)
    var trustRoots = NIOSSLTrustRoots.default
    var decide: ChallengeDecider = { _ in .acceptAnswer }

    /// - Parameter servers: The servers whose origins are allowed.
    init(_ url: String, by method: HTTPMethod = .GET, from servers: CannedServer..., headers: HTTPHeaders = [:]) throws
    {
        let text = servers.map {
            "http://127.0.0.1:\($0.port),https://127.0.0.1:\($0.port),https://localhost:\($0.port)"
        }
        origins = try AllowedOrigins(text.joined(separator: ","))
        request = FetchRequest(url: url, method: method, headers: headers)
    }

    struct Outcome {
        var status = 0
        var body = ""
        var redirects: [Redirect] = []
        var asked: [AuthenticationChallenge] = []
    }

    /// Runs the fetch and returns the last response with its redirects and challenges.
    func run() async throws -> Outcome {
        let log = Log()
        let fetch = HTTPFetch(
            origins: origins, request: request, idleTimeout: idle, trustRoots: trustRoots,
            decide: { challenge in
                log.outcome.withLock { $0.asked.append(challenge) }
                return try await decide(challenge)
            },
            onRedirect: { redirect in log.outcome.withLock { $0.redirects.append(redirect) } })
        try await fetch.run { response in
            do {
                let text = String(buffer: try await response.body.collect(upTo: 1 << 20))
                log.outcome.withLock { outcome in
                    outcome.status = Int(response.status.code)
                    outcome.body = text
                }
            } catch { throw FetchFailure(network: error) }
        }
        return log.outcome.withLock(\.self)
    }

    /// Runs the fetch and returns its failure; nil if it succeeds.
    func failure() async throws -> FetchFailure? {
        do { _ = try await run() } catch let failure as FetchFailure { return failure }
        return nil
    }

    private final class Log: Sendable { let outcome = Mutex(Outcome()) }
}
