public import NIOCore

/// Takes over a connection that speaks HTTP/2 from its first byte on ("prior knowledge", RFC 9113 section 3.3), on its loop.
public typealias HTTP2Acceptor = @Sendable (any Channel) throws -> Void

/// Looks at the first bytes of a connection and holds them until it is known who takes them.
public final class PrefaceHandler: ChannelInboundHandler, RemovableChannelHandler {
    public typealias InboundIn = ByteBuffer
    public typealias InboundOut = ByteBuffer

    /// What the look said. On the connection's loop.
    public struct Finding {
        public let isHTTP2: Bool
        fileprivate let context: ChannelHandlerContext
        fileprivate let handler: PrefaceHandler

        /// Gives on what was held, and leaves.
        public func release() {
            context.fireChannelRead(NIOAny(handler.held))
            handler.held = ByteBuffer()
            context.fireChannelReadComplete()
            context.pipeline.syncOperations.removeHandler(handler, promise: nil)
        }
    }

    /// Enough of the preface: no method of HTTP/1.1 begins so.
    private static let preface = Array("PRI * HTTP/2".utf8)

    private var held = ByteBuffer()
    private var promise: EventLoopPromise<NIOLoopBound<Finding>>?
    private var patience: Scheduled<Void>?

    private init(_ promise: EventLoopPromise<NIOLoopBound<Finding>>) { self.promise = promise }

    /// Looks at what comes first on a connection. To be called on its loop.
    ///
    /// - Parameter time: how long that may take; then the connection is closed.
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

    /// The server goes: whoever has said nothing yet is not waited for.
    public func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if event is ChannelShouldQuiesceEvent, promise != nil { context.close(promise: nil) }
        context.fireUserInboundEventTriggered(event)
    }

    public func channelInactive(context: ChannelHandlerContext) {
        patience?.cancel()
        take()?.fail(ChannelError.eof)
        context.fireChannelInactive()
    }

    /// However a connection ends, also one that never began: whoever waits for its first bytes is told.
    public func handlerRemoved(context: ChannelHandlerContext) {
        patience?.cancel()
        take()?.fail(ChannelError.eof)
    }

    private func take() -> EventLoopPromise<NIOLoopBound<Finding>>? {
        defer { promise = nil }
        return promise
    }
}
