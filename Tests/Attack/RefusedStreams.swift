import NIOCore
import NIOHPACK
import NIOHTTP2

/// Opens a stream with a request that the service refuses, and another one two seconds after each answer.
final class RefusedStreams: ChannelInboundHandler {
    typealias InboundIn = Any

    private let streams: NIOHTTP2Handler.StreamMultiplexer
    private let token: @Sendable () -> String?
    private let heard: @Sendable (Int) -> Void

    /// - Parameters:
    ///   - token: returns the provider's token of the next request; nil for none.
    ///   - heard: gets the status of each answer.
    init(
        _ streams: NIOHTTP2Handler.StreamMultiplexer, token: @escaping @Sendable () -> String?,
        _ heard: @escaping @Sendable (Int) -> Void
    ) {
        (self.streams, self.token, self.heard) = (streams, token, heard)
    }

    func channelActive(context: ChannelHandlerContext) {
        send(context.channel)
        context.fireChannelActive()
    }

    private func send(_ channel: any Channel) {
        let (heard, token) = (heard, token())
        let bound = NIOLoopBound(self, eventLoop: channel.eventLoop)
        streams.createStreamChannel(promise: nil) { stream in
            stream.eventLoop.makeCompletedFuture {
                try stream.pipeline.syncOperations.addHandler(
                    RefusedStream(token: token) { status in
                        heard(status)
                        channel.eventLoop.scheduleTask(in: .seconds(2)) {
                            if channel.isActive { bound.value.send(channel) }
                        }
                    })
            }
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
}

/// A notification that the service refuses.
private final class RefusedStream: ChannelInboundHandler {
    typealias InboundIn = HTTP2Frame.FramePayload
    typealias OutboundOut = HTTP2Frame.FramePayload

    private let token: String?
    private let answered: (Int) -> Void

    init(token: String?, _ answered: @escaping (Int) -> Void) { (self.token, self.answered) = (token, answered) }

    func channelActive(context: ChannelHandlerContext) {
        var headers: HPACKHeaders = [
            ":method": "POST", ":scheme": "https", ":authority": "localhost",
            ":path": "/3/device/" + String(repeating: "0", count: 64), "apns-topic": "a", "apns-push-type": "alert",
        ]
        if let token { headers.add(name: "authorization", value: "bearer \(token)") }
        context.write(wrapOutboundOut(.headers(.init(headers: headers))), promise: nil)
        let payload = ByteBuffer(string: #"{"aps":{"alert":"a"}}"#)
        context.writeAndFlush(wrapOutboundOut(.data(.init(data: .byteBuffer(payload), endStream: true))), promise: nil)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard case .headers(let answer) = unwrapInboundIn(data),
            let status = answer.headers.first(name: ":status").flatMap({ Int($0) })
        else { return }
        answered(status)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
}
