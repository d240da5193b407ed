import Hummingbird
import NIOCore
import NIOHTTP1

/// Cuts connections of clients that keep the server waiting: for the head of a request, for the rest of a document, for the
/// next request. However they trickle: these are limits on the whole, not on the pause between two bytes. Also of clients that
/// do not take what they asked for.
///
/// Content of other types, or larger than any document, must arrive at a lowest rate.
final class SlowClientHandler: ChannelDuplexHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias InboundOut = HTTPServerRequestPart
    typealias OutboundIn = HTTPServerResponsePart
    typealias OutboundOut = HTTPServerResponsePart

    private let requests: RequestGuard
    private let rate: Int
    private let requestTimeout: TimeAmount
    private let idleTimeout: TimeAmount
    /// When the client must have sent what is waited for.
    private var deadline: NIODeadline?
    /// When it must have taken some of what is written to it.
    private var stall: NIODeadline?
    /// Wakes at the deadline or earlier; most deadlines are met, so it is left to look again.
    private var alarm: (time: NIODeadline, task: Scheduled<Void>)?
    private var isReading = false
    /// The head of a request that has not come as a whole yet, until it was looked at.
    private var head: HTTPRequestHead?
    private var isDocument = false
    /// The client sends its body only after the server asks for it.
    private var waitsForContinue = false
    private var meter: BodyMeter?
    /// What of the request's body has come, in bytes.
    private var received = 0
    private var unanswered = 0

    /// - Parameters:
    ///   - requests: answers the requests whose bodies do not arrive.
    ///   - request: for the head of the first request, TLS included, and for the rest of a document.
    ///   - idle: from an answer to the next head, and for taking a part of an answer.
    ///   - rate: the lowest rate of content, in bytes a second; 0 is no limit.
    init(_ requests: RequestGuard, request: TimeAmount, idle: TimeAmount, rate: Int) {
        self.requests = requests
        self.rate = rate
        requestTimeout = request
        idleTimeout = idle
    }

    func handlerAdded(context: ChannelHandlerContext) {
        if context.channel.isActive { expect(within: requestTimeout, context) }
    }

    func handlerRemoved(context: ChannelHandlerContext) { stop() }

    func channelActive(context: ChannelHandlerContext) {
        expect(within: requestTimeout, context)
        context.fireChannelActive()
    }

    func channelInactive(context: ChannelHandlerContext) {
        stop()
        context.fireChannelInactive()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head(let head):
            isReading = true
            unanswered += 1
            received = 0
            deadline = nil
            self.head = head
        case .body(let part):
            received += part.readableBytes
            meter?.take(part.readableBytes)
        case .end:
            isReading = false
            head = nil
            deadline = nil
            meter = nil
            if unanswered == 0 { expect(within: idleTimeout, context) }
        }
        context.fireChannelRead(data)
    }

    /// Most requests come as a whole; only for the others it matters what they are.
    func channelReadComplete(context: ChannelHandlerContext) {
        if isReading { readPart(context) }
        context.fireChannelReadComplete()
    }

    private func readPart(_ context: ChannelHandlerContext) {
        let now = NIODeadline.now()
        if let head {
            isDocument = head.isDocument
            waitsForContinue = head.headers.contains(name: "Expect")
            if isDocument, received <= Request.documentLimit { expect(within: requestTimeout, context) }
        }
        head = nil
        if isDocument, received > Request.documentLimit {
            isDocument = false
            deadline = nil
        }
        guard !isDocument, rate > 0 else { return }
        if meter != nil {
            meter?.rest(at: now)
            if meter?.isTooSlow(at: now) == true { requests.cut() }
        } else if received > 0 || !waitsForContinue {
            // Longer than for a document: a client of content may pause for a moment.
            let window = TimeAmount.nanoseconds(2 * requestTimeout.nanoseconds)
            meter = BodyMeter(rate: rate, window: window)
            wake(at: now + window, context)
        }
    }

    /// The server wants more.
    func read(context: ChannelHandlerContext) {
        if meter != nil { meter?.want(at: .now()) }
        context.read()
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        stall = nil
        if !context.channel.isWritable {
            let end = NIODeadline.now() + idleTimeout
            stall = end
            wake(at: end, context)
        }
        context.fireChannelWritabilityChanged()
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        if case .end = unwrapOutboundIn(data) {
            unanswered -= 1
            if unanswered == 0, !isReading { expect(within: idleTimeout, context) }
        }
        context.write(data, promise: promise)
    }

    private func expect(within time: TimeAmount, _ context: ChannelHandlerContext) {
        let end = NIODeadline.now() + time
        deadline = end
        wake(at: end, context)
    }

    private func wake(at end: NIODeadline, _ context: ChannelHandlerContext) {
        if let alarm, alarm.time <= end { return }
        alarm?.task.cancel()
        set(end, context)
    }

    private func set(_ time: NIODeadline, _ context: ChannelHandlerContext) {
        // The loop of the channel is the only one that touches the handler.
        let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
        let task = context.eventLoop.scheduleTask(deadline: time) { bound.value.0.look(bound.value.1) }
        alarm = (time, task)
    }

    private func look(_ context: ChannelHandlerContext) {
        alarm = nil
        let now = NIODeadline.now()
        if let stall, now >= stall { return context.close(promise: nil) }
        // Without a head there is no request to answer.
        if let deadline, now >= deadline { return isReading ? requests.cut() : context.close(promise: nil) }
        if meter?.isTooSlow(at: now) == true { return requests.cut() }
        guard let next = [deadline, stall, meter?.nextLook(after: now)].compactMap({ $0 }).min() else { return }
        set(next, context)
    }

    private func stop() {
        (deadline, stall, meter) = (nil, nil, nil)
        alarm?.task.cancel()
        alarm = nil
    }
}

extension HTTPRequestHead {
    /// Whether what follows the head is a document.
    fileprivate var isDocument: Bool {
        if let length = headers.first(name: "Content-Length").flatMap({ Int($0) }), length > Request.documentLimit {
            return false
        }
        return headers.first(name: "Content-Type")?.split(separator: ";").first.map { $0.trimmed().lowercased() }
            == "application/json"
    }
}
