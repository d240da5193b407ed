import NIOCore
import NIOPosix

/// A TCP proxy between a client and its server that cuts, holds and refuses connections on demand.
///
/// It sees the bytes on the wire, so it can't find patterns inside TLS.
public final class TCPProxy: Sendable {
    /// The port on 127.0.0.1 where it listens.
    public let port: Int
    private let listener: any Channel
    private let traffic: ProxyTraffic

    /// Starts a proxy in front of a server. It stops with ``stop()`` or when it is released, so keep a reference.
    /// - Throws: an error if it can't listen. A missing server shows only when a client connects.
    public static func start(to host: String = "127.0.0.1", port: Int) async throws -> TCPProxy {
        let traffic = ProxyTraffic(host: host, port: port)
        let listener = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .serverChannelOption(.backlog, value: 256)
            .childChannelInitializer { client in
                client.eventLoop.makeCompletedFuture {
                    let link = ProxyLink(client: client, traffic: traffic)
                    try client.pipeline.syncOperations.addHandler(ProxyRelay(link, .toServer))
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        return TCPProxy(listener, traffic)
    }

    private init(_ listener: any Channel, _ traffic: ProxyTraffic) {
        self.listener = listener
        self.traffic = traffic
        port = listener.localAddress?.port ?? 0
    }

    deinit {
        listener.close(promise: nil)
        traffic.links.forEach { _ = $0.close() }
    }

    /// The number of connected clients.
    public var connections: Int { traffic.links.count { $0.client.isActive } }

    /// The number of connections that it has reset since its start.
    public var refusals: Int { traffic.refusals }

    /// Stops listening and cuts all connections.
    public func stop() async throws {
        try await listener.close().get()
        try await cutAll()
    }

    /// Closes all connections on both sides and waits until they are closed. It still accepts new ones.
    public func cutAll() async throws {
        for closed in traffic.links.map({ $0.close() }) { try await closed.get() }
    }

    /// Sets whether new connections are reset immediately. Existing ones continue.
    public func refuse(_ refuses: Bool) { traffic.update { $0.refuses = refuses } }

    /// Holds all bytes and ends of streams in both directions, like a network that loses everything. After it returns,
    /// nothing more passes. New connections are accepted and held.
    public func pause() async throws {
        traffic.update { $0.flow = .none }
        // A loop answers after it has forwarded the bytes that it had begun.
        for link in traffic.links { try await link.client.eventLoop.submit {}.get() }
    }

    /// Forwards the held bytes, and continues.
    public func resume() {
        traffic.update { $0.flow = .all }
        traffic.links.forEach { $0.resume() }
    }

    /// Forwards at most a number of bytes during a pause: first the held ones, then new ones.
    public func letSomeThrough(bytes: Int) async throws {
        traffic.update { $0.flow = .atMost(bytes) }
        traffic.links.forEach { $0.resume() }
        // Each loop must have seen the allowance before the next pause begins.
        for link in traffic.links { try await link.client.eventLoop.submit {}.get() }
        try await pause()
    }

    /// Cuts a connection when its client sends certain bytes, even in several parts.
    /// - Parameters:
    ///   - bytes: the pattern, at most 4,096 bytes, such as `COMMIT`.
    ///   - moment: whether the server still receives them; the client never gets an answer.
    ///   - count: the number of cuts. Later connections that send the bytes are not cut.
    /// - Returns: the rule, which counts its cuts. It applies even if the caller drops it.
    @discardableResult
    public func cut(
        whenClientSends bytes: some Sequence<UInt8>, after moment: ProxyCut.Moment, count: Int = 1
    ) -> ProxyCut {
        let cut = ProxyCut(bytes: Array(bytes), moment: moment, count: count)
        traffic.update { $0.cuts.append(cut) }
        return cut
    }
}
