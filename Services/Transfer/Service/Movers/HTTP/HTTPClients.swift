import AsyncHTTPClient
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL
import Runtime
import Synchronization

/// Clients that are kept for later connections of the same kind: with each comes what it trusts, and to read the system's
/// certificates takes milliseconds and a mebibyte.
final class HTTPClients: Sendable {
    static let shared = HTTPClients()
    /// So many are kept that nobody uses.
    static let limit = 64
    /// So many with certificates have one kind; further connections share them. What is wrong with one connection that is
    /// being made is then told of all that wait for theirs in the same client.
    static let secureLimit = 16
    /// So many further ones are there for those to try alone, one at a time in each.
    static let aloneLimit = 8
    /// At most, for TCP and TLS together.
    static let connectTimeout = TimeAmount.seconds(10)

    /// What is the client's and not the request's.
    struct Kind: Hashable {
        var host: String
        var isSecure: Bool
        /// Nil where the name may be resolved as usual.
        var address: String?
        var verification: CertificateVerification
        var idleTimeout: TimeAmount
        /// For TCP and TLS together.
        var connectTimeout = HTTPClients.connectTimeout
        var trustRoots: NIOSSLTrustRoots
    }

    private struct Entry {
        let client: HTTPClient
        let kind: Kind
        var users = 0
        /// For who must make a connection alone.
        let isReserve: Bool
        /// Of a reserve: somebody makes a connection in it.
        var isConnecting = false
        /// Others have used it, since nobody had.
        var isShared = false
        var lastUse = 0
    }

    private struct State {
        var entries: [ObjectIdentifier: Entry] = [:]
        var kinds: [Kind: Set<ObjectIdentifier>] = [:]
        var uses = 0
        var idle = 0
    }

    private let state = Mutex(State())
    private let alone = Turns(aloneLimit)

    /// How many of a kind are kept or in use.
    func count(of kind: Kind) -> Int { state.withLock { $0.kinds[kind]?.count ?? 0 } }

    /// - Parameter isAlone: until ``hasConnected(_:)`` nobody else makes a connection in the client, so that a failure is one's own.
    func withClient<Outcome>(
        _ kind: Kind, isAlone: Bool = false, _ body: (HTTPClient) async throws -> Outcome
    ) async throws -> Outcome {
        if isAlone { await alone.take() }
        let client = take(kind, isAlone: isAlone)
        let outcome: Result<Outcome, any Error>
        do { outcome = .success(try await body(client)) } catch { outcome = .failure(error) }
        hasConnected(client)
        // Nobody uses that one; its own failure has no bearing on the outcome.
        try? await giveBack(client)?.shutdown()
        return try outcome.get()
    }

    /// The connection is there: another may make one.
    func hasConnected(_ client: HTTPClient) {
        let wasAlone = state.withLock { state in
            let wasAlone = state.entries[ObjectIdentifier(client)]?.isConnecting ?? false
            state.entries[ObjectIdentifier(client)]?.isConnecting = false
            return wasAlone
        }
        if wasAlone { alone.pass() }
    }

    /// Whether others may have waited for connections in this client since it was taken.
    func isShared(_ client: HTTPClient) -> Bool {
        state.withLock { $0.entries[ObjectIdentifier(client)]?.isShared ?? false }
    }

    private func take(_ kind: Kind, isAlone: Bool) -> HTTPClient {
        state.withLock { state in
            let alike = state.kinds[kind, default: []].compactMap { state.entries[$0] }
                .filter { $0.isReserve == isAlone && !$0.isConnecting }
            let least = alike.min { $0.users < $1.users }
            let mayGrow = !isAlone && (!kind.isSecure || alike.count < Self.secureLimit)
            let found = least.flatMap { $0.users == 0 || !mayGrow ? $0 : nil }
            var entry = found ?? Entry(client: Self.make(kind), kind: kind, isReserve: isAlone)
            if entry.users == 0, found != nil { state.idle -= 1 }
            state.uses += 1
            entry.users += 1
            entry.isConnecting = isAlone
            if entry.users > 1 { entry.isShared = true }
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
            if entry.users == 0 { entry.isShared = false }
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
        configuration.timeout = .init(connect: kind.connectTimeout)
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
