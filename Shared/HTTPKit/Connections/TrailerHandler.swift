import DequeModule
public import HTTPTypes
import NIOCore
import NIOHTTP1

extension ServiceContext {
    /// Returns a trailer field (RFC 9110 section 6.5). Call it after the end of the body.
    ///
    /// The web framework drops trailers, so a handler below it keeps them.
    ///
    /// - Returns: repeated fields, joined by commas; nil if there is none, or if the connection has ended.
    public func trailer(_ name: HTTPField.Name) async -> String? {
        let channel = channel
        let values = try? await channel.eventLoop.submit {
            try channel.pipeline.syncOperations.handler(type: TrailerHandler.self).trailers?[name.rawName] ?? []
        }.get()
        guard let values, !values.isEmpty else { return nil }
        return values.joined(separator: ", ")
    }
}

/// Keeps the trailers of requests until they are answered. A client may send several requests before the first answer.
final class TrailerHandler: ChannelDuplexHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundIn = HTTPServerResponsePart

    /// The trailers of complete, unanswered requests, in order.
    private var waiting: Deque<HTTPHeaders?> = []
    /// Whether a request was answered before its end arrived.
    private var isAhead = false

    /// The trailers of the oldest unanswered request; nil until its end has arrived.
    var trailers: HTTPHeaders? { waiting.first ?? nil }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        if case .end(let trailers) = unwrapInboundIn(data) {
            if isAhead { isAhead = false } else { waiting.append(trailers) }
        }
        context.fireChannelRead(data)
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        if case .end = unwrapOutboundIn(data), waiting.popFirst() == nil { isAhead = true }
        context.write(data, promise: promise)
    }
}
