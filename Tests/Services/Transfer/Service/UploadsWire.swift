import NIOCore
import NIOPosix
import Synchronization
import TestSupport

/// A raw connection on which a test sends and receives bytes.
final class UploadsWire: Sendable {
    private struct State {
        var text = ""
        var isEnded = false
        var wanted: (text: String, signal: Signal<Void>)?
    }

    private final class Ear: ChannelInboundHandler, Sendable {
        typealias InboundIn = ByteBuffer
        let hear: @Sendable (String?) -> Void

        init(_ hear: @escaping @Sendable (String?) -> Void) { self.hear = hear }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) { hear(String(buffer: unwrapInboundIn(data))) }
        func channelInactive(context: ChannelHandlerContext) { hear(nil) }
        // A reset counts as the end of the connection.
        func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
    }

    private let state = Mutex(State())
    private let channel: any Channel

    static func connect(_ port: Int) async throws -> UploadsWire {
        let channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .channelOption(.autoRead, value: false)
            .connect(host: "127.0.0.1", port: port).get()
        let wire = UploadsWire(channel)
        try await channel.pipeline.addHandler(Ear { [weak wire] in wire?.hear($0) }).get()
        try await channel.setOption(.autoRead, value: true).get()
        return wire
    }

    private init(_ channel: any Channel) { self.channel = channel }

    deinit { channel.close(promise: nil) }

    private func hear(_ text: String?) {
        let signal = state.withLock { state -> Signal<Void>? in
            if let text { state.text += text } else { state.isEnded = true }
            guard let wanted = state.wanted, state.isEnded || state.text.contains(wanted.text) else { return nil }
            return wanted.signal
        }
        signal?.fire()
    }

    func send(_ text: String) async throws { try await channel.writeAndFlush(ByteBuffer(string: text)).get() }
    func send(_ bytes: ByteBuffer) async throws { try await channel.writeAndFlush(bytes).get() }
    /// Closes the sending side. The connection still receives.
    func finish() async throws { try await channel.close(mode: .output).get() }
    func close() async throws { try await channel.close().get() }

    /// Waits for a text or the end of the connection, and returns all received text.
    func heard(_ text: String = "never sent") async throws -> String {
        let signal = Signal<Void>()
        state.withLock { state in
            if state.isEnded || state.text.contains(text) { signal.fire() } else { state.wanted = (text, signal) }
        }
        try await withTimeout(seconds: 60, "“\(text)” on the wire") { try await signal.value() }
        return state.withLock(\.text)
    }
}

extension UploadsSuite.Replica {
    /// Sends the head of a request and a part of its body.
    func half(_ method: String, _ path: String, _ headers: [String], _ body: ByteBuffer) async throws -> UploadsWire {
        let wire = try await UploadsWire.connect(port)
        let head = ["\(method) \(path) HTTP/1.1", "Host: localhost"] + headers
        try await wire.send(head.joined(separator: "\r\n") + "\r\n\r\n")
        try await wire.send(body)
        return wire
    }
}
