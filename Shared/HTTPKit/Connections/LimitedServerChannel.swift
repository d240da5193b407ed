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
        let admission = addresses.admit(channel)
        guard admission != .refused else {
            logger.debug("refused connection, its address has reached the limit")
            channel.close(promise: nil)
            return channel.eventLoop.makeFailedFuture(Refused())
        }
        connections.add(channel)
        let isReserve = admission == .reserve
        if let tls {
            do {
                // A new certificate applies to new connections.
                let handler = NIOSSLServerHandler(context: tls())
                try channel.pipeline.syncOperations.addHandler(handler)
            } catch {
                channel.close(promise: nil)
                return channel.eventLoop.makeFailedFuture(error)
            }
        }
        guard let http2, !isReserve else {
            return setUpHTTP1(channel, isReserve, logger).map { value in
                Value(channel: channel, http1: channel.eventLoop.makeSucceededFuture(value))
            }
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
        return channel.eventLoop.makeSucceededFuture(Value(channel: channel, http1: http1))
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
