import NIOCore

/// Combines the flushes of many streams. Answers arrive in batches, and each flush costs a TLS record and a system
/// call. Placed between the HTTP/2 handler and the network.
final class FlushOnce: ChannelOutboundHandler {
    typealias OutboundIn = ByteBuffer

    private var isPending = false

    /// Flushes at the end of the current turn of the event loop.
    func flush(context: ChannelHandlerContext) {
        guard !isPending else { return }
        isPending = true
        let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
        context.eventLoop.execute { bound.value.0.pass(bound.value.1) }
    }

    /// Flushes pending answers before the close.
    func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
        pass(context)
        context.close(mode: mode, promise: promise)
    }

    func handlerRemoved(context: ChannelHandlerContext) { isPending = false }

    private func pass(_ context: ChannelHandlerContext) {
        guard isPending else { return }
        isPending = false
        context.flush()
    }
}
