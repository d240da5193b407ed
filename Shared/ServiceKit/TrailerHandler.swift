import DequeModule
public import HTTPTypes
import NIOCore
import NIOHTTP1

extension ServiceContext {
    /// A field that came behind the body (RFC 9110 section 6.5), which must have been read to its end. What was sent
    /// several times is joined by commas.
    ///
    /// The web framework does not hand trailers on, so they are kept beneath it.
    ///
    /// - Returns: nil where there is none, also on a connection that has ended.
    public func trailer(_ name: HTTPField.Name) async -> String? {
        let channel = channel
        let values = try? await channel.eventLoop.submit {
            try channel.pipeline.syncOperations.handler(type: TrailerHandler.self).trailers?[name.rawName] ?? []
        }.get()
        guard let values, !values.isEmpty else { return nil }
        return values.joined(separator: ", ")
    }
}

/// Keeps the trailers of requests until these are answered. A connection may bring several requests before the first answer.
final class TrailerHandler: ChannelDuplexHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias InboundOut = HTTPServerRequestPart
    typealias OutboundIn = HTTPServerResponsePart
    typealias OutboundOut = HTTPServerResponsePart

    /// Those of the requests that have come as a whole and are not answered, in order.
    private var waiting: Deque<HTTPHeaders?> = []
    /// Whether a request was answered before its end came.
    private var isAhead = false

    /// Those of the request that is at its turn; nil until its end has come.
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
