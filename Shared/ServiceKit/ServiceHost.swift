import Foundation
public import HTTPKit
public import Hummingbird
import HummingbirdCore
public import Logging
import NIOCore
import NIOPosix
import NIOSSL
public import ServiceLifecycle
import UnixSignals

/// Runs a service: its own loops, then the HTTP server.
public struct ServiceHost: Sendable {
    private let name: String
    /// The length of the accept queue, as far as the system allows. A whole fleet may connect at once.
    static let backlog: Int = 4096

    private let configuration: ServiceConfiguration
    private let responder: RouterResponder<ServiceContext>
    private let services: [any Service]
    private let readiness: Readiness?
    private let certificate: ServerCertificate?
    private let http2: HTTP2Acceptor?
    private let logger: Logger

    /// Creates a host.
    ///
    /// - Parameters:
    ///   - services: the loops in the order of their dependencies. They shut down in reverse order, after the server.
    ///   - readiness: shuts down first. Requests are then still answered for `DRAIN_SECONDS`.
    ///   - certificate: enables HTTPS.
    ///   - http2: accepts connections that begin with the preface of HTTP/2, without TLS only.
    public init(
        name: String, configuration: ServiceConfiguration, responder: RouterResponder<ServiceContext>,
        services: [any Service], readiness: Readiness? = nil, certificate: ServerCertificate? = nil,
        http2: HTTP2Acceptor? = nil, logger: Logger
    ) {
        self.http2 = certificate == nil ? http2 : nil
        self.name = name
        self.configuration = configuration
        self.responder = responder
        self.services = services
        self.readiness = readiness
        self.certificate = certificate
        self.logger = logger
    }

    /// Returns the loops and the server as one group.
    ///
    /// - Parameter listening: called once with the port of the server, before it accepts connections.
    public func group(listening: @escaping @Sendable (Int) async -> Void) -> ServiceGroup {
        group(signals: [], more: [], listening: listening)
    }

    private func group(
        signals: [UnixSignal], more: [any Service], listening: @escaping @Sendable (Int) async -> Void
    ) -> ServiceGroup {
        let connections = ConnectionCount()
        let server = Application(
            responder: responder, server: builder(counting: connections),
            configuration: .init(
                address: .hostname(configuration.host, port: configuration.port), backlog: Self.backlog),
            onServerRunning: { channel in await listening(channel.localAddress?.port ?? configuration.port) },
            logger: logger)
        let warnings: [any Service] = configuration.isInsecure ? [InsecureWarning(logger: logger)] : []
        let drains: [any Service] = [readiness].compactMap { $0 }.map {
            Drain(readiness: $0, duration: configuration.drainTime)
        }
        var all = services + warnings
        all.append(MemoryReturn(connections: connections, logger: logger))
        if let certificate { all.append(certificate) }
        all += more
        all.append(server)
        var settings = ServiceGroupConfiguration(
            services: all + drains, gracefulShutdownSignals: signals, logger: logger)
        settings.maximumGracefulShutdownDuration = configuration.drainTime + configuration.shutdownTimeout
        return ServiceGroup(configuration: settings)
    }

    private func builder(counting connections: ConnectionCount) -> HTTPServerBuilder {
        .limited(
            connections: connections, perAddress: configuration.connectionsPerAddress,
            proxies: configuration.trustedProxies,
            requestTimeout: .seconds(Int64(configuration.requestTimeout)),
            idleTimeout: .seconds(Int64(configuration.idleTimeout)), bodyRate: configuration.bodyRate,
            tls: certificate.map { certificate in { @Sendable in certificate.context } }, http2: http2)
    }

    /// Runs until SIGTERM or SIGINT. Prints one line on standard output when `/readyz` first answers 200.
    ///
    /// At shutdown it serves requests for `DRAIN_SECONDS` more, with 503 from `/readyz`. Then it finishes the requests
    /// in progress within `SHUTDOWN_TIMEOUT` seconds.
    ///
    /// - Throws: ``StartupError`` if the port is not available, else the error of a service.
    public func run() async throws {
        let scheme = certificate == nil ? "http" : "https"
        let ports = AsyncStream<Int>.makeStream()
        let announcement = Announcement(ports: ports.stream, readiness: readiness) { port in
            let address = "\(scheme)://\(configuration.host):\(port)"
            FileHandle.standardOutput.write(Data("\(name) is ready on \(address)\n".utf8))
        }
        let group = group(signals: [.sigterm, .sigint], more: [announcement]) { port in
            ports.continuation.yield(port)
            ports.continuation.finish()
        }
        do {
            try await tryPort()
            try await group.run()
        } catch let error as IOError where error.errnoCode == EADDRINUSE {
            throw StartupError.portInUse(configuration.port)
        } catch let error as IOError where error.errnoCode == EACCES {
            throw StartupError.portForbidden(configuration.port)
        }
    }
}

extension ServiceHost {
    /// Checks that the port is available before any loop begins. Else the process could take leases and end, and other
    /// replicas would wait until these expire.
    private func tryPort() async throws {
        guard configuration.port != 0 else { return }
        let probe = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelInitializer { $0.close() }
            .bind(host: configuration.host, port: configuration.port).get()
        try await probe.close().get()
    }
}

/// A failure to start, described in one line with the remedy. The process exits with 1.
public enum StartupError: Error, Sendable, Equatable, CustomStringConvertible {
    /// Another process uses the port; the flag chooses another.
    case portInUse(Int, _ flag: String = "--port")
    /// The process has no right to the port.
    case portForbidden(Int, _ flag: String = "--port")

    public var description: String {
        switch self {
        case .portInUse(let port, let flag):
            "port \(port) is in use: stop the process that listens on it, or choose another with \(flag)"
        case .portForbidden(let port, let flag):
            "port \(port) needs more rights than this process has: choose one above 1023 with \(flag)"
        }
    }
}

/// Warns each minute that requests need no credential.
private struct InsecureWarning: Service {
    let logger: Logger

    func run() async throws {
        try? await cancelWhenGracefulShutdown {
            while true {
                logger.warning("accepting requests without a credential, --insecure-dev is set")
                try await Task.sleep(for: .seconds(60))
            }
        }
    }
}
