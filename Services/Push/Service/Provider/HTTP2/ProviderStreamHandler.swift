import NIOCore
import NIOHPACK
import NIOHTTP2
import Telemetry

/// One request of a provider, from its head to its answer. Runs on the connection's event loop.
final class ProviderStreamHandler: ChannelInboundHandler {
    typealias InboundIn = HTTP2Frame.FramePayload
    typealias OutboundOut = HTTP2Frame.FramePayload

    private enum State {
        case waiting
        case reading(ProviderRequest, ByteBuffer)
        case answering
        case answered
    }

    private let connection: NIOLoopBound<ProviderConnectionHandler>
    private let provider: ProviderConnection
    private let metrics: Metrics
    private let answering: ProviderAnswering
    private var state = State.waiting
    private var hasEnded = false
    private var context: ChannelHandlerContext?

    init(
        connection: NIOLoopBound<ProviderConnectionHandler>, provider: ProviderConnection,
        metrics: Metrics, answering: @escaping ProviderAnswering
    ) {
        self.connection = connection
        self.provider = provider
        self.metrics = metrics
        self.answering = answering
    }

    func handlerAdded(context: ChannelHandlerContext) { self.context = context }

    func handlerRemoved(context: ChannelHandlerContext) {
        connection.value.expectNothing(of: self)
        self.context = nil
    }

    func channelInactive(context: ChannelHandlerContext) {
        connection.value.expectNothing(of: self)
        context.fireChannelInactive()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch (unwrapInboundIn(data), state) {
        case (.headers(let frame), .waiting):
            hasEnded = frame.endStream
            begin(ProviderRequest(frame.headers), context)
        case (.headers(let frame), .reading):
            // Trailers, which APNs does not use.
            hasEnded = frame.endStream
            if hasEnded { end(context) }
        case (.data(let frame), .reading(let request, var body)):
            hasEnded = frame.endStream
            guard case .byteBuffer(var part) = frame.data else { return }
            state = .answering
            body.writeBuffer(&part)
            state = .reading(request, body)
            if hasEnded || body.readableBytes > ProviderRequest.bodyLimit { end(context) }
        default: break
        }
    }

    private func begin(_ request: ProviderRequest, _ context: ChannelHandlerContext) {
        state = .reading(request, ByteBuffer())
        if hasEnded { return end(context) }
        connection.value.expectBody(of: self)
    }

    /// Answers a request whose body did not arrive in time.
    func endLate() {
        guard case .reading(let request, _) = state, let context else { return }
        write(.refused(.idleTimeout, request), context)
    }

    /// Answers a request that is complete or already too large.
    private func end(_ context: ChannelHandlerContext) {
        guard case .reading(var request, let body) = state else { return }
        state = .answering
        connection.value.expectNothing(of: self)
        let fits = body.readableBytes <= ProviderRequest.bodyLimit
        request.body = fits ? Array(buffer: body) : nil
        if connection.value.isLeaving {
            return write(.refused(.shutdown, request), context)
        }
        let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
        let loop = context.eventLoop
        let (asked, provider, answering) = (request, provider, answering)
        // Not cancelled when the client closes: the request is still decided and stored.
        Task {
            let answer = await answering(asked, provider)
            loop.execute { bound.value.0.write(answer, bound.value.1) }
        }
    }

    private func write(_ answer: ProviderAnswer, _ context: ChannelHandlerContext) {
        if case .answered = state { return }
        state = .answered
        metrics.add(to: .providerAnswers, ["status": String(answer.status)])
        if let reason = answer.reason {
            metrics.add(to: .providerRefusals, ["reason": reason.rawValue, "team": provider.team ?? ""])
        }
        if provider.isAdmitted { connection.value.widen() }
        var headers = HPACKHeaders([(":status", String(answer.status))])
        for header in answer.headers { headers.add(name: header.name, value: header.value) }
        // An answer without a body ends with its head: some clients fail at an empty data frame.
        let written = context.eventLoop.makePromise(of: Void.self)
        let head = wrapOutboundOut(.headers(.init(headers: headers, endStream: answer.body.isEmpty)))
        context.write(head, promise: answer.body.isEmpty ? written : nil)
        if !answer.body.isEmpty {
            let body = context.channel.allocator.buffer(bytes: answer.body)
            context.write(
                wrapOutboundOut(.data(.init(data: .byteBuffer(body), endStream: true))), promise: written)
        }
        context.flush()
        guard !hasEnded else { return }
        // RFC 9113 section 8.1: after an early answer, RST_STREAM asks the client to stop the request. It follows the
        // answer, because a reset overtakes data.
        let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
        written.futureResult.whenSuccess {
            let (handler, context) = bound.value
            context.writeAndFlush(handler.wrapOutboundOut(.rstStream(.noError)), promise: nil)
        }
    }
}

extension ProviderRequest {
    /// Creates a request from its head, without a body.
    init(_ headers: HPACKHeaders) {
        let path = headers.first(name: ":path") ?? ""
        self.init(
            method: headers.first(name: ":method") ?? "",
            path: String(Substring(path.utf8.prefix { $0 != UInt8(ascii: "?") })),
            headers: headers.filter { !$0.name.hasPrefix(":") }.map { ($0.name, $0.value) }, body: nil)
    }
}
