import AsyncHTTPClient
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL
import Synchronization

/// Clients that are kept for later connections of the same kind: with each comes what it trusts, and to read the system's
/// certificates takes milliseconds and a mebibyte.
final class HTTPClients: Sendable {
    static let shared = HTTPClients()
    /// So many are kept that nobody uses.
    static let limit = 64
    /// So many with certificates have one kind; further connections share them. What is wrong with one connection may then
    /// be told of another that is being made to the same server.
    static let secureLimit = 16
    /// TCP and TLS together.
    static let connectTimeout = TimeAmount.seconds(10)

    /// What is the client's and not the request's.
    struct Kind: Hashable {
        var host: String
        var isSecure: Bool
        /// Nil where the name may be resolved as usual.
        var address: String?
        var verification: CertificateVerification
        var idleTimeout: TimeAmount
        var trustRoots: NIOSSLTrustRoots
    }

    private struct Entry {
        let client: HTTPClient
        let kind: Kind
        var users = 0
        var lastUse = 0
    }

    private struct State {
        var entries: [ObjectIdentifier: Entry] = [:]
        var kinds: [Kind: Set<ObjectIdentifier>] = [:]
        var uses = 0
        var idle = 0
    }

    private let state = Mutex(State())

    /// How many of a kind are kept or in use.
    func count(of kind: Kind) -> Int { state.withLock { $0.kinds[kind]?.count ?? 0 } }

    func withClient<Outcome>(
        _ kind: Kind, _ body: (HTTPClient) async throws -> Outcome
    ) async throws -> Outcome {
        let client = take(kind)
        let outcome: Result<Outcome, any Error>
        do { outcome = .success(try await body(client)) } catch { outcome = .failure(error) }
        // Nobody uses that one; its own failure has no bearing on the outcome.
        try? await giveBack(client)?.shutdown()
        return try outcome.get()
    }

    private func take(_ kind: Kind) -> HTTPClient {
        state.withLock { state in
            let alike = state.kinds[kind, default: []]
            let least = alike.compactMap { state.entries[$0] }.min { $0.users < $1.users }
            let mayGrow = !kind.isSecure || alike.count < Self.secureLimit
            let found = least.flatMap { $0.users == 0 || !mayGrow ? $0 : nil }
            var entry = found ?? Entry(client: Self.make(kind), kind: kind)
            if entry.users == 0, found != nil { state.idle -= 1 }
            state.uses += 1
            entry.users += 1
            entry.lastUse = state.uses
            state.entries[ObjectIdentifier(entry.client)] = entry
            state.kinds[kind, default: []].insert(ObjectIdentifier(entry.client))
            return entry.client
        }
    }

    /// - Returns: the client that has not been used for longest, where there are too many.
    private func giveBack(_ client: HTTPClient) -> HTTPClient? {
        state.withLock { state in
            let id = ObjectIdentifier(client)
            guard var entry = state.entries[id] else { return nil }
            entry.users -= 1
            state.entries[id] = entry
            guard entry.users == 0 else { return nil }
            state.idle += 1
            guard state.idle > Self.limit else { return nil }
            let idle = state.entries.values.lazy.filter { $0.users == 0 }
            guard let oldest = idle.min(by: { $0.lastUse < $1.lastUse }) else { return nil }
            state.idle -= 1
            state.entries[ObjectIdentifier(oldest.client)] = nil
            state.kinds[oldest.kind]?.remove(ObjectIdentifier(oldest.client))
            if state.kinds[oldest.kind]?.isEmpty == true { state.kinds[oldest.kind] = nil }
            return oldest.client
        }
    }

    private static func make(_ kind: Kind) -> HTTPClient {
        var configuration = HTTPClient.Configuration()
        if let address = kind.address { configuration.dnsOverride = [kind.host: address] }
        configuration.redirectConfiguration = .disallow
        configuration.decompression = .disabled
        configuration.httpVersion = .http1Only
        configuration.timeout = .init(connect: connectTimeout)
        // Trying again is the machine's: it says so in the log.
        configuration.connectionPool.retryConnectionEstablishment = false
        // Each attempt has its own connection, which its failures and its device's network are about.
        configuration.maximumUsesPerConnection = 1
        configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = Movers.limit
        var tls = TLSConfiguration.makeClientConfiguration()
        // As App Transport Security wants it.
        tls.minimumTLSVersion = .tlsv12
        tls.trustRoots = kind.trustRoots
        tls.certificateVerification = kind.verification == .system ? .fullVerification : .none
        configuration.tlsConfiguration = tls
        configuration.http1_1ConnectionDebugInitializer = { channel in
            // Before anything is sent.
            channel.eventLoop.submit {
                let pipeline = channel.pipeline.syncOperations
                do {
                    if kind.isSecure { try kind.verification.verify(pipeline.nioSSL_peerCertificate()) }
                    try pipeline.addHandler(IdleHandler(kind.idleTimeout), position: .first)
                } catch {
                    channel.close(promise: nil)
                    throw error
                }
            }
        }
        return HTTPClient(eventLoopGroup: MultiThreadedEventLoopGroup.singleton, configuration: configuration)
    }
}
