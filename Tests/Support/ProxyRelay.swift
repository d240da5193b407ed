import NIOCore

/// Reads one side of a link, with back-pressure from the other side, and not during a pause.
final class ProxyRelay: ChannelDuplexHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundIn = ByteBuffer

    private let link: ProxyLink
    private let direction: ProxyLink.Direction
    private var wantsToRead = false

    init(_ link: ProxyLink, _ direction: ProxyLink.Direction) {
        self.link = link
        self.direction = direction
    }

    func channelActive(context: ChannelHandlerContext) {
        if direction == .toServer { link.open() }
        context.fireChannelActive()
    }

    func read(context: ChannelHandlerContext) {
        if !link.traffic.isPaused, let target = link.target(direction), target.isWritable || !target.isActive {
            context.read()
        } else {
            wantsToRead = true
        }
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) { link.take(unwrapInboundIn(data), direction) }

    func channelInactive(context: ChannelHandlerContext) {
        link.take(nil, direction)
        context.fireChannelInactive()
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        // The other side may continue to read.
        let source = direction == .toServer ? link.target(.toServer) : link.target(.toClient)
        source?.pipeline.fireUserInboundEventTriggered(ProxyLink.GoOn())
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        guard event is ProxyLink.GoOn else { return context.fireUserInboundEventTriggered(event) }
        guard wantsToRead else { return }
        wantsToRead = false
        read(context: context)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
}
