import NIOCore

/// Sends what many streams have answered in one go: answers come in by the batch, and each of them would otherwise cost a
/// record of TLS and a call of the system. Between the HTTP/2 handler and the network.
final class FlushOnce: ChannelOutboundHandler {
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private var isPending = false

    /// At the end of what the loop has to do now.
    func flush(context: ChannelHandlerContext) {
        guard !isPending else { return }
        isPending = true
        let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
        context.eventLoop.execute { bound.value.0.pass(bound.value.1) }
    }

    /// Whoever closes has said all that is to be read before.
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
