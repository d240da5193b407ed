import AsyncHTTPClient
import NIOCore

/// Ends a connection on which the other side owes us something, bytes or room for ours, and nothing has moved for too long.
///
/// While we ourselves are slow no time counts: nothing is asked of the other side then.
final class IdleHandler: ChannelDuplexHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundIn = IOData

    private let limit: TimeAmount
    /// Of a connection that is there, the first bytes were asked for before this handler came.
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
