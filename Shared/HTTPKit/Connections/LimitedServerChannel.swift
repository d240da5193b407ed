import Hummingbird
import HummingbirdCore
import Logging
import NIOCore
import NIOHTTP1
import NIOSSL

/// Sets up an accepted connection: counts its address, adds TLS if there is a certificate, then HTTP.
struct LimitedServerChannel: ServerChildChannel {
    /// The HTTP/1.1 channel as a future, because the first bytes of a connection decide between HTTP/1.1 and HTTP/2.
    struct Value: ServerChildChannelValue {
        let channel: any Channel
        let http1: EventLoopFuture<HTTP1Channel.Value>
    }

    let base: HTTP1Channel
    let addresses: AddressLimit
    let proxies: TrustedProxies
    let connections: ConnectionCount
    /// Returns the TLS context for a new connection; nil without TLS.
    let tls: (@Sendable () -> NIOSSLContext)?
    let requestTimeout: TimeAmount
    /// The lowest rate of bodies, in bytes a second; 0 means no limit.
    let bodyRate: Int
    let idleTimeout: TimeAmount
    /// Accepts connections that begin with the preface of HTTP/2; nil if the service has no HTTP/2.
    let http2: HTTP2Acceptor?

    struct Refused: Error {}

    func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<Value> {
        connections.add(channel)
        guard proxies.include(channel.remoteAddress) else {
            do {
                return try setUp(channel, logger).map { Value(channel: channel, http1: $0) }
            } catch {
                channel.close(promise: nil)
                return channel.eventLoop.makeFailedFuture(error)
            }
        }
        // The header of the proxy comes first. This initialiser must end before any byte is read.
        let http1 = proxies.identify(channel, within: requestTimeout) {
            try setUp(channel, logger).flatMap { $0 }
        }
        return channel.eventLoop.makeSucceededFuture(Value(channel: channel, http1: http1))
    }

    /// Adds TLS and HTTP to a connection whose client is known.
    ///
    /// - Returns: a future that ends when the handlers are there, with the one for the first bytes.
    private func setUp(
        _ channel: any Channel, _ logger: Logger
    ) throws -> EventLoopFuture<EventLoopFuture<HTTP1Channel.Value>> {
        let admission = addresses.admit(channel)
        guard admission != .refused else {
            logger.debug("refused connection, its address has reached the limit")
            throw Refused()
        }
        let isReserve = admission == .reserve
        if let tls {
            // A new certificate applies to new connections.
            try channel.pipeline.syncOperations.addHandler(NIOSSLServerHandler(context: tls()))
        }
        guard let http2, !isReserve else {
            return setUpHTTP1(channel, isReserve, logger).map { channel.eventLoop.makeSucceededFuture($0) }
        }
        // This server does not handle an HTTP/2 connection further.
        let look = PrefaceHandler.look(channel, within: requestTimeout)
        let http1 = look.flatMap { preface -> EventLoopFuture<HTTP1Channel.Value> in
            guard preface.value.isHTTP2 else {
                return setUpHTTP1(channel, false, logger).map { value in
                    preface.value.release()
                    return value
                }
            }
            do { try http2(channel) } catch {
                channel.close(promise: nil)
                return channel.eventLoop.makeFailedFuture(error)
            }
            preface.value.release()
            return channel.eventLoop.makeFailedFuture(Refused())
        }
        return channel.eventLoop.makeSucceededFuture(http1)
    }

    private func setUpHTTP1(
        _ channel: any Channel, _ isReserve: Bool, _ logger: Logger
    ) -> EventLoopFuture<HTTP1Channel.Value> {
        base.setup(channel: channel, logger: logger).flatMapThrowing { value in
            // These handlers sit between the decoder and the framework, and see each request before it waits.
            let pipeline = channel.pipeline.syncOperations
            let decoder = try pipeline.handler(type: ByteToMessageHandler<HTTPRequestDecoder>.self)
            let requests = RequestGuard(isReserve: isReserve)
            let patience = isReserve ? min(requestTimeout, AddressLimit.reservePatience) : requestTimeout
            try pipeline.addHandler(
                RequestTimeoutHandler(requests, request: patience, idle: idleTimeout, rate: bodyRate),
                position: .after(decoder))
            try pipeline.addHandler(TrailerHandler(), position: .after(decoder))
            try pipeline.addHandler(requests, position: .after(decoder))
            try pipeline.addHandler(HeadMeter(requests), position: .before(decoder))
            return value
        }
    }

    func handle(value: Value, logger: Logger) async {
        // Nil if the connection was refused, closed before its first bytes, or uses HTTP/2.
        let http1 = try? await withTaskCancellationHandler {
            try await value.http1.get()
        } onCancel: {
            value.channel.close(promise: nil)
        }
        guard let value = http1 else { return }
        await base.handle(value: value, logger: logger)
    }
}
