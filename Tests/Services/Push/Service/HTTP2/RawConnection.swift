import NIOCore
import NIOPosix
import TestSupport

/// A connection that sends any bytes.
struct RawConnection: Sendable {
    private let channel: any Channel

    static let preface = Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8) + frame(4)

    static func connect(port: Int) async throws -> RawConnection {
        let channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture { try channel.pipeline.syncOperations.addHandler(Quiet()) }
            }
            .connect(host: "127.0.0.1", port: port).get()
        return RawConnection(channel: channel)
    }

    /// Writes, and ignores that the other side has closed.
    func send(_ bytes: [UInt8]) async { try? await channel.writeAndFlush(ByteBuffer(bytes: bytes)) }

    /// Waits until the server has closed the connection.
    func closed() async throws {
        let channel = channel
        try await withTimeout(seconds: 60, "the server closes the connection") { try await channel.closeFuture.get() }
    }

    func close() async { try? await channel.close() }

    /// Returns an HTTP/2 frame (RFC 9113 section 4.1).
    static func frame(
        _ type: UInt8, flags: UInt8 = 0, stream: UInt32 = 0, _ payload: [UInt8] = [], length: Int? = nil
    ) -> [UInt8] {
        let length = length ?? payload.count
        let head = [UInt8(length >> 16 & 255), UInt8(length >> 8 & 255), UInt8(length & 255), type, flags]
        return head + (0..<4).map { UInt8(truncatingIfNeeded: stream >> (24 - 8 * UInt32($0))) } + payload
    }
}

private final class Quiet: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {}

    // A reset counts as a close.
    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
}
