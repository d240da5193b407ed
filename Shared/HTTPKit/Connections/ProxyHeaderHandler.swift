import NIOCore

/// Reads the PROXY header at the start of a connection, if there is one, and holds all further bytes for the next handler.
final class ProxyHeaderHandler: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer

    /// The result, for use on the event loop of the connection.
    struct Finding {
        /// The client; nil if the proxy speaks for itself, or names none.
        let client: SocketAddress?
        fileprivate let context: ChannelHandlerContext
        fileprivate let handler: ProxyHeaderHandler

        /// Passes the held bytes on and removes the handler.
        func release() {
            if handler.held.readableBytes > 0 {
                context.fireChannelRead(NIOAny(handler.held))
                context.fireChannelReadComplete()
            }
            handler.held = ByteBuffer()
            context.pipeline.syncOperations.removeHandler(handler, promise: nil)
        }
    }

    private var held = ByteBuffer()
    private var promise: EventLoopPromise<NIOLoopBound<Finding>>?
    private var patience: Scheduled<Void>?

    private init(_ promise: EventLoopPromise<NIOLoopBound<Finding>>) { self.promise = promise }

    /// Reads the header of a connection. Call it on the event loop of the connection.
    static func client(
        of channel: any Channel, within time: TimeAmount
    ) throws -> EventLoopFuture<NIOLoopBound<Finding>> {
        let promise = channel.eventLoop.makePromise(of: NIOLoopBound<Finding>.self)
        let handler = ProxyHeaderHandler(promise)
        handler.patience = channel.eventLoop.scheduleTask(in: time) { channel.close(promise: nil) }
        do { try channel.pipeline.syncOperations.addHandler(handler) } catch { promise.fail(error) }
        return promise.futureResult
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        var part = unwrapInboundIn(data)
        held.writeBuffer(&part)
        guard promise != nil else { return }
        do {
            guard let header = try ProxyHeader(Array(held.readableBytesView)) else { return }
            held.moveReaderIndex(forwardBy: header.length)
            patience?.cancel()
            take()?.succeed(
                NIOLoopBound(
                    Finding(client: header.client, context: context, handler: self), eventLoop: context.eventLoop))
        } catch {
            take()?.fail(error)
            context.close(promise: nil)
        }
    }

    /// Closes a connection without first bytes when the server shuts down.
    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if event is ChannelShouldQuiesceEvent, promise != nil { context.close(promise: nil) }
        context.fireUserInboundEventTriggered(event)
    }

    func channelInactive(context: ChannelHandlerContext) {
        patience?.cancel()
        take()?.fail(ChannelError.eof)
        context.fireChannelInactive()
    }

    /// Ends the wait in every case, also if the connection was never active.
    func handlerRemoved(context: ChannelHandlerContext) {
        patience?.cancel()
        take()?.fail(ChannelError.eof)
    }

    private func take() -> EventLoopPromise<NIOLoopBound<Finding>>? {
        defer { promise = nil }
        return promise
    }
}
