import AsyncHTTPClient
import NIOCore

/// Closes a connection if the other side neither sends nor takes bytes for too long.
///
/// Time counts only while this side waits for the other side.
final class IdleHandler: ChannelDuplexHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundIn = IOData

    private let limit: TimeAmount
    /// True at first, because the channel reads before this handler is added.
    private var isReading = true
    private var unsent = 0
    private var last = NIODeadline.now()
    private var timer: Scheduled<Void>?

    init(_ limit: TimeAmount) { self.limit = limit }

    func handlerAdded(context: ChannelHandlerContext) { schedule(in: limit, context) }

    func handlerRemoved(context: ChannelHandlerContext) { timer?.cancel() }

    func channelInactive(context: ChannelHandlerContext) {
        timer?.cancel()
        context.fireChannelInactive()
    }

    func read(context: ChannelHandlerContext) {
        if !isReading {
            isReading = true
            last = .now()
        }
        context.read()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        isReading = false
        last = .now()
        context.fireChannelRead(data)
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        if unsent == 0 { last = .now() }
        unsent += 1
        let promise = promise ?? context.eventLoop.makePromise(of: Void.self)
        promise.futureResult.assumeIsolated().whenComplete { _ in
            self.unsent -= 1
            self.last = .now()
        }
        context.write(data, promise: promise)
    }

    private func schedule(in delay: TimeAmount, _ context: ChannelHandlerContext) {
        timer = context.eventLoop.assumeIsolated().scheduleTask(in: delay) { self.look(context) }
    }

    private func look(_ context: ChannelHandlerContext) {
        let silence = NIODeadline.now() - last
        guard isReading || unsent > 0 else { return schedule(in: limit, context) }
        guard silence >= limit else { return schedule(in: limit - silence, context) }
        context.fireErrorCaught(HTTPClientError.readTimeout)
        context.close(promise: nil)
    }
}
