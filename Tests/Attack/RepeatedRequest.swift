import NIOCore

/// Sends a request over HTTP/1.1, and again two seconds after each answer. It finds an answer by its status line, so it
/// expects answers one at a time.
///
/// A body goes on after an early answer. The next request then begins two seconds after its end, so a refusal of the
/// request does not free the connection.
final class RepeatedRequest: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private static let pause = TimeAmount.seconds(2)
    private let request: @Sendable () -> String
    private let drips: String
    private let heard: @Sendable (Int) -> Void
    private var dripping: RepeatedTask?
    /// The bytes of the body that are not sent yet.
    private var left = 0
    private var isAnswered = false

    /// - Parameters:
    ///   - drips: a body of which one byte is sent each second.
    ///   - heard: gets the status of each answer.
    ///   - request: returns the head of the next request.
    init(drips: String, _ heard: @escaping @Sendable (Int) -> Void, request: @escaping @Sendable () -> String) {
        (self.drips, self.heard, self.request) = (drips, heard, request)
    }

    func channelActive(context: ChannelHandlerContext) { send(context) }

    private func send(_ context: ChannelHandlerContext) {
        context.writeAndFlush(wrapOutboundOut(ByteBuffer(string: request())), promise: nil)
        left = drips.utf8.count
        isAnswered = false
        guard left > 0 else { return }
        let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
        dripping = context.eventLoop.scheduleRepeatedTask(initialDelay: .seconds(1), delay: .seconds(1)) { task in
            let (handler, context) = bound.value
            guard handler.left > 0, context.channel.isActive else { return task.cancel() }
            context.writeAndFlush(handler.wrapOutboundOut(ByteBuffer(string: " ")), promise: nil)
            handler.left -= 1
            if handler.left == 0, handler.isAnswered { handler.sendLater(context) }
        }
    }

    private func sendLater(_ context: ChannelHandlerContext) {
        let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
        context.eventLoop.scheduleTask(in: Self.pause) {
            let (handler, context) = bound.value
            if context.channel.isActive { handler.send(context) }
        }
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let buffer = unwrapInboundIn(data)
        let text = buffer.getString(at: buffer.readerIndex, length: min(12, buffer.readableBytes)) ?? ""
        guard text.hasPrefix("HTTP/1.1 "), let status = Int(text.suffix(3)), status >= 200 else { return }
        heard(status)
        isAnswered = true
        if left == 0 { sendLater(context) }
    }

    func channelInactive(context: ChannelHandlerContext) { dripping?.cancel() }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
}
