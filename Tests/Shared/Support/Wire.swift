import NIOCore
import NIOPosix
import Synchronization
import TestSupport
import Testing

/// Text that grows, with waits for a condition on it.
final class GrowingText: Sendable {
    private struct State {
        var text = ""
        var waiters: [(isWanted: @Sendable (String) -> Bool, signal: Signal<Void>)] = []
    }

    private let state = Mutex(State())

    var text: String { state.withLock(\.text) }

    func append(_ more: String) {
        state.withLock { state in
            state.text += more
            let text = state.text
            state.waiters.filter { $0.isWanted(text) }.forEach { $0.signal.fire() }
        }
    }

    func first(where isWanted: @escaping @Sendable (String) -> Bool) async throws {
        let signal = Signal<Void>()
        state.withLock { state in
            if isWanted(state.text) { signal.fire() } else { state.waiters.append((isWanted, signal)) }
        }
        try await withTimeout(seconds: 60, "text, so far: \(text.suffix(80))") { try await signal.value() }
    }
}

/// A client that keeps all received text.
struct Wire {
    let channel: any Channel
    let sent = GrowingText()
    let heard: GrowingText
    let ended: Tally

    static func connect(_ port: Int) async throws -> Wire {
        let (heard, ended) = (GrowingText(), Tally())
        let channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(Ear(heard, ended, answers: false))
                }
            }
            .connect(host: "127.0.0.1", port: port).get()
        return Wire(channel: channel, heard: heard, ended: ended)
    }

    func send(_ text: String) async throws {
        sent.append(text)
        try await channel.writeAndFlush(ByteBuffer(string: text)).get()
    }
}

/// A server that answers everything in capitals.
final class ShoutingServer: Sendable {
    let received: GrowingText
    /// The connections that have ended.
    let ended: Tally
    let port: Int
    private let channel: any Channel

    static func start() async throws -> ShoutingServer {
        let (received, ended) = (GrowingText(), Tally())
        let channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(Ear(received, ended, answers: true))
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        return ShoutingServer(channel, received, ended, port: try #require(channel.localAddress?.port))
    }

    private init(_ channel: any Channel, _ received: GrowingText, _ ended: Tally, port: Int) {
        (self.channel, self.received, self.ended, self.port) = (channel, received, ended, port)
    }

    deinit { channel.close(promise: nil) }
}

private final class Ear: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let text: GrowingText
    private let ended: Tally
    private let answers: Bool

    init(_ text: GrowingText, _ ended: Tally, answers: Bool) {
        (self.text, self.ended, self.answers) = (text, ended, answers)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let heard = String(buffer: unwrapInboundIn(data))
        text.append(heard)
        if answers { context.writeAndFlush(wrapOutboundOut(ByteBuffer(string: heard.uppercased())), promise: nil) }
    }

    func channelInactive(context: ChannelHandlerContext) { ended.add() }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
}
