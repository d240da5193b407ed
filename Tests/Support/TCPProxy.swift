import NIOCore
import NIOPosix

/// A TCP proxy between a client and its server, which cuts, holds and refuses connections when the test says so.
///
/// It sees bytes as they are on the wire: patterns can't be found inside TLS.
public final class TCPProxy: Sendable {
    /// The port on 127.0.0.1 where it listens.
    public let port: Int
    private let listener: any Channel
    private let traffic: ProxyTraffic

    /// Starts one in front of a server. It stops with ``stop()``, or when it is released: hold it.
    /// - Throws: the error of listening; a server that is not there shows when a client connects.
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

    /// How many clients are connected to it now.
    public var connections: Int { traffic.links.count { $0.client.isActive } }

    /// The number of connections that it has reset since its start.
    public var refusals: Int { traffic.refusals }

    /// Stops listening and cuts all connections.
    public func stop() async throws {
        try await listener.close().get()
        try await cutAll()
    }

    /// Closes all connections on both sides and waits until they are closed. New ones are taken.
    public func cutAll() async throws {
        for closed in traffic.links.map({ $0.close() }) { try await closed.get() }
    }

    /// Whether new connections are reset as soon as they are made. Those that exist go on.
    public func refuse(_ refuses: Bool) { traffic.update { $0.refuses = refuses } }

    /// Holds all bytes, and closes, in both directions, as a network that loses everything. When this returns,
    /// nothing more gets through. New connections are taken and held.
    public func pause() async throws {
        traffic.update { $0.flow = .none }
        // What a loop has begun to forward is done when it answers.
        for link in traffic.links { try await link.client.eventLoop.submit {}.get() }
    }

    /// Lets through what was held, and all that follows.
    public func resume() {
        traffic.update { $0.flow = .all }
        traffic.links.forEach { $0.resume() }
    }

    /// During a pause: lets through what was held, and what comes while that is done, but no more than so many bytes.
    public func letSomeThrough(bytes: Int) async throws {
        traffic.update { $0.flow = .atMost(bytes) }
        traffic.links.forEach { $0.resume() }
        // Each loop must have seen it before the next pause begins, however late it comes to it.
        for link in traffic.links { try await link.client.eventLoop.submit {}.get() }
        try await pause()
    }

    /// Cuts a connection when its client sends certain bytes, also when they come in pieces.
    /// - Parameters:
    ///   - bytes: what to look for, at most 4,096 bytes, such as `COMMIT`.
    ///   - moment: whether the server still gets them; no answer reaches the client either way.
    ///   - count: how many times. Later connections that send the bytes are left alone.
    /// - Returns: what tells when it happens. The order stands also when that is dropped.
    @discardableResult
    public func cut(
        whenClientSends bytes: some Sequence<UInt8>, after moment: ProxyCut.Moment, count: Int = 1
    ) -> ProxyCut {
        let cut = ProxyCut(bytes: Array(bytes), moment: moment, count: count)
        traffic.update { $0.cuts.append(cut) }
        return cut
    }
}
