public import NIOCore

/// Takes over a connection that uses HTTP/2 from its first byte ("prior knowledge", RFC 9113 section 3.3), on its event
/// loop.
public typealias HTTP2Acceptor = @Sendable (any Channel) throws -> Void

/// Detects HTTP/2 by the first bytes of a connection, and holds them for the next handler.
public final class PrefaceHandler: ChannelInboundHandler, RemovableChannelHandler {
    public typealias InboundIn = ByteBuffer

    /// The result of the detection, for use on the connection's event loop.
    public struct Finding {
        /// Whether the connection begins with the preface of HTTP/2.
        public let isHTTP2: Bool
        fileprivate let context: ChannelHandlerContext
        fileprivate let handler: PrefaceHandler

        /// Passes the held bytes on and removes the handler.
        public func release() {
            context.fireChannelRead(NIOAny(handler.held))
            handler.held = ByteBuffer()
            context.fireChannelReadComplete()
            context.pipeline.syncOperations.removeHandler(handler, promise: nil)
        }
    }

    /// A prefix of the preface; no method of HTTP/1.1 begins with it.
    private static let preface = Array("PRI * HTTP/2".utf8)

    private var held = ByteBuffer()
    private var promise: EventLoopPromise<NIOLoopBound<Finding>>?
    private var patience: Scheduled<Void>?

    private init(_ promise: EventLoopPromise<NIOLoopBound<Finding>>) { self.promise = promise }

    /// Detects HTTP/2 on a connection. Call it on the connection's event loop.
    ///
    /// - Parameter time: the time for the first bytes; after it the connection is closed.
    public static func look(_ channel: any Channel, within time: TimeAmount) -> EventLoopFuture<NIOLoopBound<Finding>> {
        let promise = channel.eventLoop.makePromise(of: NIOLoopBound<Finding>.self)
        let handler = PrefaceHandler(promise)
        handler.patience = channel.eventLoop.scheduleTask(in: time) { channel.close(promise: nil) }
        do { try channel.pipeline.syncOperations.addHandler(handler) } catch { promise.fail(error) }
        return promise.futureResult
    }

    public func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        var part = unwrapInboundIn(data)
        held.writeBuffer(&part)
        guard promise != nil else { return }
        let seen = held.readableBytesView
        let isHTTP2 = Self.preface.starts(with: seen.prefix(Self.preface.count))
        guard !isHTTP2 || seen.count >= Self.preface.count else { return }
        patience?.cancel()
        let finding = Finding(isHTTP2: isHTTP2, context: context, handler: self)
        take()?.succeed(NIOLoopBound(finding, eventLoop: context.eventLoop))
    }

    /// Closes a connection without first bytes when the server shuts down.
    public func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if event is ChannelShouldQuiesceEvent, promise != nil { context.close(promise: nil) }
        context.fireUserInboundEventTriggered(event)
    }

    public func channelInactive(context: ChannelHandlerContext) {
        patience?.cancel()
        take()?.fail(ChannelError.eof)
        context.fireChannelInactive()
    }

    /// Ends the wait for the first bytes in every case, also if the connection was never active.
    public func handlerRemoved(context: ChannelHandlerContext) {
        patience?.cancel()
        take()?.fail(ChannelError.eof)
    }

    private func take() -> EventLoopPromise<NIOLoopBound<Finding>>? {
        defer { promise = nil }
        return promise
    }
}
