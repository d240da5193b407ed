import HTTPKit
import NIOCore
import NIOHTTP2
import Records

/// Limits the concurrent requests of a provider's connection, closes it when it is idle or shows no valid credential in
/// time, and shuts it down. Placed behind the HTTP/2 handler, on the connection's event loop.
final class ProviderConnectionHandler: ChannelDuplexHandler {
    typealias InboundIn = HTTP2Frame
    typealias OutboundIn = HTTP2Frame
    typealias OutboundOut = HTTP2Frame

    /// The user event by which the service stops.
    struct Drain: Sendable {}

    private let limits: ProviderServer.Limits
    private var context: ChannelHandlerContext?
    private var streams = 0
    private var lastStream = HTTP2StreamID.rootStream
    /// Whether the connection has shown a valid credential.
    private var isAdmitted: Bool
    private var isWide = false
    /// Whether the connection has sent GOAWAY.
    private(set) var isLeaving = false
    /// The end of a connection without a request.
    private var idle: NIODeadline?
    /// The end of a connection without a valid credential. Refused requests do not move it. A request in progress has its
    /// own time limit, and is answered first.
    private var admission: NIODeadline?
    private var isOverdue = false
    /// The requests whose bodies are not complete, each with the time by which its body must be.
    private var incomplete: [ObjectIdentifier: (stream: ProviderStreamHandler, end: NIODeadline)] = [:]
    private var alarm = Alarm()

    /// - Parameter isAdmitted: whether the client's certificate is a valid credential.
    init(limits: ProviderServer.Limits, isAdmitted: Bool) {
        self.limits = limits
        self.isAdmitted = isAdmitted
    }

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        guard !isAdmitted else { return wait() }
        admission = time(in: limits.handshake)
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        alarm.cancel()
        self.context = nil
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if event is Drain || event is ChannelShouldQuiesceEvent { goAway(.shutdown) }
        context.fireUserInboundEventTriggered(event)
    }

    /// Back-pressure: stops reading requests while the client does not read its answers.
    func channelWritabilityChanged(context: ChannelHandlerContext) {
        _ = context.channel.setOption(.autoRead, value: context.channel.isWritable)
        context.fireChannelWritabilityChanged()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        // An error of one stream ends that stream alone. The HTTP/2 handler has reset it.
        if error is NIOHTTP2Errors.StreamError { return }
        context.close(promise: nil)
    }

    func streamOpened(_ stream: any Channel) {
        streams += 1
        idle = nil
        if let id = try? stream.syncOptions?.getOption(HTTP2StreamChannelOptions.streamID) {
            lastStream = max(lastStream, id)
        }
        let bound = NIOLoopBound(self, eventLoop: stream.eventLoop)
        stream.closeFuture.whenComplete { _ in bound.value.streamClosed() }
    }

    private func streamClosed() {
        streams -= 1
        guard streams == 0 else { return }
        if isLeaving { close() } else if isAdmitted { wait() } else if isOverdue { goAway(.idleTimeout) }
    }

    private func endUnadmitted() {
        isOverdue = true
        guard streams > 0 else { return goAway(.idleTimeout) }
        // A client that does not read its answer keeps its stream open.
        admission = time(in: limits.request + .seconds(1))
    }

    /// Limits the time for the body of a request. A body that is late is reported to the stream.
    func expectBody(of stream: ProviderStreamHandler) {
        incomplete[ObjectIdentifier(stream)] = (stream, time(in: limits.request))
    }

    /// Takes note that the body of a request is complete, or that nobody waits for it.
    func expectNothing(of stream: ProviderStreamHandler) { incomplete[ObjectIdentifier(stream)] = nil }

    /// Raises the stream limit after a valid credential.
    func widen() {
        guard !isWide, let context else { return }
        (isAdmitted, isWide) = (true, true)
        admission = nil
        let setting = HTTP2Setting(parameter: .maxConcurrentStreams, value: limits.streams)
        write(.settings(.settings([setting])), context)
    }

    /// Sends GOAWAY with the reason in APNs's form. Requests in progress are still answered.
    func goAway(_ reason: APNsReason) {
        guard !isLeaving, let context else { return }
        isLeaving = true
        let words = JSON.object([JSON.Member("reason", .string(reason.rawValue))])
        let data = context.channel.allocator.buffer(bytes: words.bytes)
        write(.goAway(lastStreamID: lastStream, errorCode: .noError, opaqueData: data), context)
        if streams == 0 { close() }
    }

    private func write(_ payload: HTTP2Frame.FramePayload, _ context: ChannelHandlerContext) {
        context.writeAndFlush(wrapOutboundOut(HTTP2Frame(streamID: .rootStream, payload: payload)), promise: nil)
    }

    /// Closes in the next turn of the event loop: the frames of the last answer are written in this one.
    private func close() {
        guard let context else { return }
        let bound = NIOLoopBound(context, eventLoop: context.eventLoop)
        context.eventLoop.execute { bound.value.close(promise: nil) }
    }

    private func wait() {
        // Before the first request, the timeout is the one of the handshake.
        idle = time(in: lastStream == .rootStream ? limits.handshake : limits.idle)
    }

    /// A deadline, which ``look()`` will see.
    private func time(in limit: TimeAmount) -> NIODeadline {
        let end = NIODeadline.now() + limit
        wake(by: end)
        return end
    }

    private func wake(by time: NIODeadline) {
        guard let context else { return }
        let bound = NIOLoopBound(self, eventLoop: context.eventLoop)
        alarm.set(by: time, on: context.eventLoop) { bound.value.look() }
    }

    private func look() {
        alarm.hasRung()
        let now = NIODeadline.now()
        for (id, request) in incomplete where request.end <= now {
            incomplete[id] = nil
            request.stream.endLate()
        }
        if let end = admission, end <= now {
            admission = nil
            if isOverdue {
                goAway(.idleTimeout)
                close()
            } else {
                endUnadmitted()
            }
        }
        if let end = idle, end <= now {
            idle = nil
            goAway(.idleTimeout)
        }
        let ends = [idle, admission].compactMap { $0 } + incomplete.values.map(\.end)
        if let next = ends.min() { wake(by: next) }
    }
}
