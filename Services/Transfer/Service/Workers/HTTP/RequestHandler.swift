import NIOCore
import NIOHTTP1

/// Gives interim responses to the listener of a connection's request, and handles an answer before the request is sent.
///
/// The HTTP client has two faults with such an early answer, which this handler hides from it. If the client has written
/// the whole request, but the connection has not sent it, the client closes the connection and reports the failed
/// write instead of the response. If it still writes the body, its task waits forever and keeps the file open. So the
/// client gets an early answer only when it has written the request. The connection drops the rest of the body, and the
/// body has no more content to read (``BodyFlow/answer()``).
final class RequestHandler: ChannelDuplexHandler {
    typealias InboundIn = HTTPClientResponsePart
    typealias InboundOut = HTTPClientResponsePart
    typealias OutboundIn = HTTPClientRequestPart
    typealias OutboundOut = HTTPClientRequestPart

    /// The number of held bytes from which on the connection stops reading.
    private static let mostHeld = 256 << 10

    private let requests: RunningRequests
    private var request: RunningRequest?
    /// Whether the client has written the end of the request.
    private var isWritten = false
    /// Whether the connection has sent the whole request.
    private var isSent = false
    /// Whether a response that ends the request (RFC 9110 section 15: not 1xx or 2xx) has begun before it was sent.
    private var isAnswered = false
    /// Tells the client that the request is sent.
    private var sent: EventLoopPromise<Void>?
    /// The parts of a response that the client gets later.
    private var held: [HTTPClientResponsePart] = []
    private var heldBytes = 0
    private var isReadHeld = false

    init(_ requests: RunningRequests) { self.requests = requests }

    // MARK: Requests

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        switch unwrapOutboundIn(data) {
        case .head(var head):
            if let name = head.headers.first(name: RunningRequests.field) {
                request = requests[name]
                head.headers.remove(name: RunningRequests.field)
            }
            context.write(wrapOutboundOut(.head(head)), promise: promise)
        case .body(let bytes): write(bytes, promise, context)
        case .end(let trailers): end(trailers, promise, context)
        }
    }

    private func write(_ bytes: IOData, _ promise: EventLoopPromise<Void>?, _ context: ChannelHandlerContext) {
        guard !isAnswered else { return promise?.succeed() ?? () }
        let promise = promise ?? context.eventLoop.makePromise(of: Void.self)
        if let flow = request?.flow {
            promise.futureResult.whenComplete { [count = bytes.readableBytes] _ in flow.remove(count) }
        }
        context.write(wrapOutboundOut(.body(bytes)), promise: promise)
    }

    private func end(_ trailers: HTTPHeaders?, _ promise: EventLoopPromise<Void>?, _ context: ChannelHandlerContext) {
        isWritten = true
        guard !isAnswered else {
            promise?.succeed()
            // The client is in the middle of this write.
            return context.eventLoop.assumeIsolated().execute { self.release(context) }
        }
        sent = promise
        let written = context.eventLoop.makePromise(of: Void.self)
        written.futureResult.assumeIsolated().whenComplete { result in
            let promise = self.sent
            self.sent = nil
            switch result {
            case .success:
                self.isSent = true
                promise?.succeed()
                self.release(context)
            // After an answer the promise is kept already.
            case .failure(let error): promise?.fail(error)
            }
        }
        context.write(wrapOutboundOut(.end(trailers)), promise: written)
    }

    // MARK: Responses

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let part = unwrapInboundIn(data)
        if case .head(let head) = part {
            if (100..<200).contains(head.status.code) {
                request?.onInterim?(head)
            } else if head.status.code >= 300, !isSent {
                answer()
            }
        }
        guard isHeld(part) else { return context.fireChannelRead(data) }
        if case .body(let bytes) = part { heldBytes += bytes.readableBytes }
        held.append(part)
    }

    private func answer() {
        isAnswered = true
        request?.flow?.answer()
        sent?.succeed()
        sent = nil
    }

    private func isHeld(_ part: HTTPClientResponsePart) -> Bool {
        if isAnswered { return !isWritten || !held.isEmpty }
        // A success does not end the request. The client closes the connection after the end of the response.
        guard case .end = part else { return false }
        return isWritten && !isSent
    }

    /// Gives the held parts to the client.
    private func release(_ context: ChannelHandlerContext) {
        guard !held.isEmpty else { return }
        let parts = held
        held = []
        heldBytes = 0
        for part in parts { context.fireChannelRead(wrapInboundOut(part)) }
        context.fireChannelReadComplete()
        if isReadHeld {
            isReadHeld = false
            context.read()
        }
    }

    func read(context: ChannelHandlerContext) {
        if heldBytes < Self.mostHeld { context.read() } else { isReadHeld = true }
    }

    /// The flow of the body replaces the client's own limit, whose task waits forever after an early answer.
    func channelWritabilityChanged(context: ChannelHandlerContext) {
        if request?.flow == nil { context.fireChannelWritabilityChanged() }
    }

    // MARK: The end

    /// Whether a whole response has arrived that the client does not have yet, because it still writes the request.
    private var holdsAnswer: Bool {
        guard isAnswered, case .end = held.last else { return false }
        return true
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        if !holdsAnswer { context.fireErrorCaught(error) }
    }

    func channelInactive(context: ChannelHandlerContext) {
        // The client leaves the pipeline next.
        let isComplete = holdsAnswer
        request?.flow?.close(isComplete: isComplete)
        if isComplete { release(context) }
        context.fireChannelInactive()
    }
}
