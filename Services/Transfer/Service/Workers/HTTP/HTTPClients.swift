import AsyncHTTPClient
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL
import Runtime
import Synchronization

/// A pool of HTTP clients. A new client reads the system's certificates, which takes milliseconds and a mebibyte.
final class HTTPClients: Sendable {
    static let shared = HTTPClients()
    /// The largest number of unused clients.
    static let limit = 64
    /// The largest number of clients of one kind with TLS. More connections share them. A shared client reports the
    /// failure of one connection to all requests that wait for a connection.
    static let secureLimit = 16
    /// The number of further clients in which those requests retry alone, one at a time in each client.
    static let aloneLimit = 8
    /// The longest time to connect, for TCP and TLS together.
    static let connectTimeout = TimeAmount.seconds(10)

    /// The configuration of a client.
    struct Kind: Hashable {
        var host: String
        var isSecure: Bool
        /// Nil to resolve the name.
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
        /// Whether the client is for requests that connect alone.
        let isReserve: Bool
        /// Whether a request connects in this reserve client.
        var isConnecting = false
        /// Whether two requests have used it at once since it was unused.
        var isShared = false
        var lastUse = 0
    }

    private struct State {
        var entries: [ObjectIdentifier: Entry] = [:]
        var kinds: [Kind: Set<ObjectIdentifier>] = [:]
        var uses = 0
        var idle = 0
    }

    /// The requests of all clients.
    let requests = RunningRequests()
    private let state = Mutex(State())
    private let alone = AsyncSemaphore(aloneLimit)

    /// Returns the number of clients of a kind.
    func count(of kind: Kind) -> Int { state.withLock { $0.kinds[kind]?.count ?? 0 } }

    /// - Parameter isAlone: whether no other request may connect in the client until ``hasConnected(_:)``. Then every
    ///   failure belongs to this request.
    func withClient<Outcome>(
        _ kind: Kind, isAlone: Bool = false, _ body: (HTTPClient) async throws -> Outcome
    ) async throws -> Outcome {
        if isAlone { await alone.take() }
        let client = take(kind, isAlone: isAlone)
        let outcome: Result<Outcome, any Error>
        do { outcome = .success(try await body(client)) } catch { outcome = .failure(error) }
        hasConnected(client)
        // The removed client is unused, so a failure of its shutdown does not matter.
        try? await giveBack(client)?.shutdown()
        return try outcome.get()
    }

    /// Reports that the connection exists, so that another request may connect.
    func hasConnected(_ client: HTTPClient) {
        let wasAlone = state.withLock { state in
            let wasAlone = state.entries[ObjectIdentifier(client)]?.isConnecting ?? false
            state.entries[ObjectIdentifier(client)]?.isConnecting = false
            return wasAlone
        }
        if wasAlone { alone.pass() }
    }

    /// Whether other requests may have waited for connections in this client since it was taken.
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
            var entry = found ?? Entry(client: Self.make(kind, requests), kind: kind, isReserve: isAlone)
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

    /// - Returns: the least recently used client to remove, if there are too many.
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

    private static func make(_ kind: Kind, _ requests: RunningRequests) -> HTTPClient {
        var configuration = HTTPClient.Configuration()
        if let address = kind.address { configuration.dnsOverride = [kind.host: address] }
        configuration.redirectConfiguration = .disallow
        configuration.decompression = .disabled
        configuration.httpVersion = .http1Only
        configuration.timeout = .init(connect: kind.connectTimeout)
        // The machine decides about retries, which are in the log.
        configuration.connectionPool.retryConnectionEstablishment = false
        // Each attempt has its own connection, because its failures and its device's network affect only this attempt.
        configuration.maximumUsesPerConnection = 1
        configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = TransferWorkers.limit
        var tls = TLSConfiguration.makeClientConfiguration()
        // App Transport Security requires it.
        tls.minimumTLSVersion = .tlsv12
        tls.trustRoots = kind.trustRoots
        tls.certificateVerification = kind.verification == .system ? .fullVerification : .none
        configuration.tlsConfiguration = tls
        configuration.http1_1ConnectionDebugInitializer = { channel in
            // Runs before the client sends anything.
            channel.eventLoop.submit {
                let pipeline = channel.pipeline.syncOperations
                do {
                    if kind.isSecure { try kind.verification.verify(pipeline.nioSSL_peerCertificate()) }
                    try pipeline.addHandler(IdleHandler(kind.idleTimeout), position: .first)
                    let decoder = try pipeline.handler(type: ByteToMessageHandler<HTTPResponseDecoder>.self)
                    try pipeline.addHandler(RequestHandler(requests), position: .after(decoder))
                } catch {
                    channel.close(promise: nil)
                    throw error
                }
            }
        }
        return HTTPClient(eventLoopGroup: MultiThreadedEventLoopGroup.singleton, configuration: configuration)
    }
}
