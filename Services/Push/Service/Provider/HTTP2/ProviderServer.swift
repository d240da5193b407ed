import Foundation
import HTTPKit
import HTTPTypes
import Logging
import NIOCore
import NIOHPACK
import NIOHTTP2
import NIOPosix
import NIOSSL
import NIOTLS
import ServiceKit
import ServiceLifecycle
import Synchronization
import Telemetry

/// Answers a provider's request: the endpoint, or a stub in benchmarks.
typealias ProviderAnswering = @Sendable (ProviderRequest, ProviderConnection) async -> ProviderAnswer

/// The provider endpoint over HTTP/2: with TLS on its own port, and without TLS on the service's port.
///
/// Source of what clients expect: Apple, "Communicating with APNs", "Sending notification requests to APNs".
final class ProviderServer: Service {
    struct Limits: Sendable {
        /// Concurrent requests of a connection with a valid credential. Our choice.
        var streams = 1000
        /// The timeout of the TLS handshake.
        var handshake: TimeAmount = .seconds(10)
        /// The timeout of a request after its head.
        var request: TimeAmount = .seconds(10)
        /// The time after which a connection without requests is closed.
        var idle: TimeAmount = .hours(1)
        /// The largest size of decoded request headers, in bytes.
        var headers = 16 * 1024
    }

    let limits: Limits
    private let addresses: AddressLimit
    private let proxies: TrustedProxies
    private let answering: ProviderAnswering
    private let metrics: Metrics
    private let logger: Logger
    private let open = Mutex(Open())

    private struct Open {
        var listener: (any Channel)?
        var connections: [ObjectIdentifier: any Channel] = [:]
        var isDraining = false
    }

    init(
        limits: Limits = Limits(), addresses: AddressLimit = AddressLimit(0),
        proxies: TrustedProxies = TrustedProxies(),
        metrics: Metrics, logger: Logger, answering: @escaping ProviderAnswering
    ) {
        self.limits = limits
        self.addresses = addresses
        self.proxies = proxies
        self.metrics = metrics
        self.logger = logger
        self.answering = answering
    }

    /// Creates the server of an endpoint, with the limits of a configuration.
    convenience init(
        _ configuration: ServiceConfiguration, idleTimeout: Int, _ endpoint: ProviderEndpoint, metrics: Metrics,
        tracer: Tracer? = nil, accessLog: AccessLog, logger: Logger
    ) {
        let series = RequestSeries(metrics: metrics)
        var limits = Limits()
        limits.handshake = .seconds(Int64(configuration.requestTimeout))
        limits.request = limits.handshake
        limits.idle = .seconds(Int64(idleTimeout))
        self.init(
            limits: limits, addresses: AddressLimit(configuration.connectionsPerAddress),
            proxies: configuration.trustedProxies, metrics: metrics, logger: logger
        ) { request, connection in
            let start = ContinuousClock.now
            let answer = await endpoint.answer(request, on: connection, tracer)
            series.note(request.route, .init(request.method) ?? .post, answer.status, since: start)
            if accessLog.isOn {
                // A path with the route of a push has a device's token.
                accessLog.note(
                    request.method, route: request.route,
                    path: request.route?.contains("{token}") == true ? nil : request.path, status: answer.status,
                    since: start, caller: connection.actor, address: connection.address,
                    trace: request.header("traceparent").flatMap(Traceparent.init))
            }
            return answer
        }
    }

    /// Listens with TLS, and accepts connections from now on.
    ///
    /// - Returns: the port.
    /// - Throws: ``StartupError`` if the port is in use or forbidden.
    @discardableResult
    func listen(host: String, port: Int, tls: ProviderTLS) async throws -> Int {
        do {
            let listener = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
                .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
                .serverChannelOption(.backlog, value: 4096)
                .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
                .childChannelInitializer { channel in
                    let identified = self.proxies.identify(channel, within: self.limits.handshake) {
                        channel.eventLoop.makeCompletedFuture { try self.setUp(channel, tls) }
                    }
                    // The first bytes of a proxy come only after this initialiser.
                    let isProxy = self.proxies.include(channel.remoteAddress)
                    return isProxy ? channel.eventLoop.makeSucceededVoidFuture() : identified
                }
                .bind(host: host, port: port).get()
            open.withLock { $0.listener = listener }
            return listener.localAddress?.port ?? port
        } catch let error as IOError where error.errnoCode == EADDRINUSE {
            throw StartupError.portInUse(port, "--apns-port")
        } catch let error as IOError where error.errnoCode == EACCES {
            throw StartupError.portForbidden(port, "--apns-port")
        }
    }

    /// Adds TLS to a connection whose client is known, and HTTP/2 after the handshake.
    private func setUp(_ channel: any Channel, _ tls: ProviderTLS) throws {
        guard addresses.admitFully(channel) else { return channel.close(promise: nil) }
        try tls.configure(channel, handshake: limits.handshake) { certificate in
            try self.accept(channel, certificate: certificate)
        }
    }

    /// Adds HTTP/2 to a connection, before its preface is read. Call it on the connection's event loop.
    ///
    /// - Parameter certificate: the client certificate; nil if the client has none.
    func accept(_ channel: any Channel, certificate: ClientCertificate? = nil) throws {
        let provider = ProviderConnection(certificate: certificate, address: channel.clientAddress)
        let handler = ProviderConnectionHandler(limits: limits, isAdmitted: provider.isAdmitted)
        let bound = NIOLoopBound(handler, eventLoop: channel.eventLoop)
        var connection = NIOHTTP2Handler.ConnectionConfiguration()
        connection.initialSettings = [
            // Apple: one stream until a valid credential.
            HTTP2Setting(parameter: .maxConcurrentStreams, value: provider.isAdmitted ? limits.streams : 1),
            HTTP2Setting(parameter: .maxHeaderListSize, value: limits.headers),
        ]
        let pipeline = channel.pipeline.syncOperations
        try pipeline.addHandler(FlushOnce())
        _ = try pipeline.configureHTTP2Pipeline(
            mode: .server, connectionConfiguration: connection, streamConfiguration: .init()
        ) { [answering, metrics] stream in
            stream.eventLoop.makeCompletedFuture {
                bound.value.streamOpened(stream)
                let request = ProviderStreamHandler(
                    connection: bound, provider: provider, metrics: metrics, answering: answering)
                try stream.pipeline.syncOperations.addHandler(request)
            }
        }
        try pipeline.addHandler(handler)
        keep(channel, bound)
    }

    private func keep(_ channel: any Channel, _ handler: NIOLoopBound<ProviderConnectionHandler>) {
        let id = ObjectIdentifier(channel)
        metrics.add(to: .providerConnections)
        let isDraining = open.withLock { open in
            open.connections[id] = channel
            return open.isDraining
        }
        channel.closeFuture.whenComplete { _ in
            self.metrics.add(-1, to: .providerConnections)
            self.open.withLock { $0.connections[id] = nil }
        }
        if isDraining { handler.value.goAway(.shutdown) }
    }

    /// Runs until graceful shutdown. Then sends GOAWAY to every connection, and waits for the requests in progress.
    func run() async throws {
        try? await gracefulShutdown()
        let (listener, connections) = open.withLock { open in
            open.isDraining = true
            return (open.listener, Array(open.connections.values))
        }
        try? await listener?.close()
        for channel in connections {
            channel.pipeline.fireUserInboundEventTriggered(ProviderConnectionHandler.Drain())
        }
        await withTaskCancellationHandler {
            for channel in connections { try? await channel.closeFuture.get() }
        } onCancel: {
            for channel in connections { channel.close(promise: nil) }
        }
    }
}

extension Metric {
    static let providerConnections = Metric(
        "dormouse_push_provider_connections", "Open HTTP/2 connections of providers.", .gauge)
    static let providerAnswers = Metric(
        "dormouse_push_provider_answers_total", "Answers to providers over HTTP/2, by status.", .counter)
    static let providerRefusals = Metric(
        "dormouse_push_provider_refusals_total", "Refused requests of providers, by reason and team.", .counter)
}
