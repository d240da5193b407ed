import Hummingbird
import NIOCore
import NIOHTTP1

/// Ends requests and connections of slow clients.
///
/// A client has limited time for the head of a request, for a document, for the next request, and to read an answer.
/// Each limit applies to the whole, not to the pause between two bytes. A body that is not JSON, or larger than any
/// document, must arrive at a lowest rate.
final class RequestTimeoutHandler: ChannelDuplexHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundIn = HTTPServerResponsePart

    private let requests: RequestGuard
    private let rate: Int
    private let requestTimeout: TimeAmount
    private let idleTimeout: TimeAmount
    /// The time by which the client must have sent the awaited part.
    private var deadline: NIODeadline?
    /// The time by which the client must have read some of the answer.
    private var stall: NIODeadline?
    private var alarm = Alarm()
    private var isReading = false
    /// The head of an incomplete request, until it was evaluated.
    private var head: HTTPRequestHead?
    private var isDocument = false
    /// The client sends its body only after the server asks for it.
    private var waitsForContinue = false
    private var meter: BodyMeter?
    /// The received bytes of the body.
    private var received = 0
    private var unanswered = 0

    /// - Parameters:
    ///   - requests: answers requests whose bodies do not arrive.
    ///   - request: the time for the head of the first request, with TLS, and for a document.
    ///   - idle: the time from an answer to the next head, and for a client to read a part of an answer.
    ///   - rate: the lowest rate of other bodies, in bytes a second; 0 means no limit.
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

    // Most requests are complete here. Only the others need a limit.
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
            // The window is longer than the time for a document, so that a client may pause.
            let window = TimeAmount.nanoseconds(2 * requestTimeout.nanoseconds)
            meter = BodyMeter(rate: rate, window: window)
            wake(at: now + window, context)
        }
    }

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
        // Only the event loop of the channel uses the handler.
        let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
        alarm.set(by: end, on: context.eventLoop) { bound.value.0.look(bound.value.1) }
    }

    private func look(_ context: ChannelHandlerContext) {
        alarm.hasRung()
        let now = NIODeadline.now()
        if let stall, now >= stall { return context.close(promise: nil) }
        // Without a head there is no request to answer.
        if let deadline, now >= deadline { return isReading ? requests.cut() : context.close(promise: nil) }
        if meter?.isTooSlow(at: now) == true { return requests.cut() }
        guard let next = [deadline, stall, meter?.nextLook(after: now)].compactMap({ $0 }).min() else { return }
        wake(at: next, context)
    }

    private func stop() {
        (deadline, stall, meter) = (nil, nil, nil)
        alarm.cancel()
    }
}

extension HTTPRequestHead {
    /// Whether the body is a JSON document within the size limit.
    fileprivate var isDocument: Bool {
        if let length = headers.first(name: "Content-Length").flatMap({ Int($0) }), length > Request.documentLimit {
            return false
        }
        return headers.first(name: "Content-Type")?.split(separator: ";").first.map { $0.trimmed().lowercased() }
            == "application/json"
    }
}
