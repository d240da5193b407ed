import NIOCore
import NIOEmbedded
import NIOHTTP1
import Testing

@testable import TransferService

/// Responses that arrive before, while and after the client writes its request.
@Suite struct RequestHandlerTests {
    private static let tooLarge = HTTPResponseHead(version: .http1_1, status: .payloadTooLarge)
    private static let ok = HTTPResponseHead(version: .http1_1, status: .ok)
    private static let chunk = ByteBuffer(repeating: 1, count: 1000)

    /// A handler between the client and a connection that sends nothing before ``flush()``.
    private final class Bench {
        let requests = RunningRequests()
        let flow = BodyFlow()
        let received = Received()
        let channel: EmbeddedChannel
        private let socket = Socket()

        init(onInterim: RunningRequest.Listener? = nil) throws {
            let handler = RequestHandler(requests)
            channel = EmbeddedChannel(handlers: [socket, handler, received])
            try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
            var head = HTTPRequestHead(version: .http1_1, method: .PUT, uri: "/")
            let name = requests.add(RunningRequest(onInterim: onInterim, flow: flow))
            head.headers.add(name: RunningRequests.field, value: name)
            channel.write(HTTPClientRequestPart.head(head), promise: nil)
        }

        deinit { flush() }

        /// Writes a part as the client. Returns its future.
        func write(_ part: HTTPClientRequestPart) -> EventLoopFuture<Void> {
            if case .body(let bytes) = part { flow.add(bytes.readableBytes) }
            let written: EventLoopFuture<Void> = channel.write(part)
            channel.embeddedEventLoop.run()
            return written
        }

        func receive(_ parts: HTTPClientResponsePart...) throws {
            for part in parts { try channel.writeInbound(part) }
            channel.embeddedEventLoop.run()
        }

        var sent: [HTTPClientRequestPart] { socket.waiting.map(\.part) }
        var reads: Int { socket.reads }
        func flush() { socket.end(.success(())) }
        func cut() {
            socket.end(.failure(ChannelError.ioOnClosedChannel))
            channel.pipeline.fireChannelInactive()
        }
    }

    /// Keeps the parts that a connection has not sent.
    private final class Socket: ChannelOutboundHandler {
        typealias OutboundIn = HTTPClientRequestPart
        var waiting: [(part: HTTPClientRequestPart, promise: EventLoopPromise<Void>?)] = []
        var reads = 0

        func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
            waiting.append((unwrapOutboundIn(data), promise))
        }

        func read(context: ChannelHandlerContext) { reads += 1 }

        func end(_ result: Result<Void, any Error>) {
            for (_, promise) in waiting { promise?.completeWith(result) }
            waiting = []
        }
    }

    /// Records the parts that the client gets.
    private final class Received: ChannelInboundHandler {
        typealias InboundIn = HTTPClientResponsePart
        var events: [String] = []

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            switch unwrapInboundIn(data) {
            case .head(let head): events.append("\(head.status.code)")
            case .body: events.append("body")
            case .end: events.append("end")
            }
        }

        func errorCaught(context: ChannelHandlerContext, error: any Error) { events.append("error") }
        func channelInactive(context: ChannelHandlerContext) { events.append("inactive") }
        func channelWritabilityChanged(context: ChannelHandlerContext) { events.append("writability") }
    }

    @Test func `the name of a request stays in the process`() throws {
        let bench = try Bench()
        guard case .head(let head) = try #require(bench.sent.first) else { throw CancellationError() }
        #expect(head.headers.isEmpty)
    }

    @Test func `an answer waits until the client has written the request, and the rest is dropped`() async throws {
        let bench = try Bench()
        _ = bench.write(.body(.byteBuffer(Self.chunk)))
        try bench.receive(.head(Self.tooLarge), .body(Self.chunk), .end(nil))
        #expect(bench.received.events == [])
        #expect(bench.sent.count == 2)
        #expect(throws: Never.self) { try bench.write(.body(.byteBuffer(Self.chunk))).wait() }
        #expect(throws: Never.self) { try bench.write(.end(nil)).wait() }
        #expect(bench.sent.count == 2, "nothing more is sent")
        #expect(bench.received.events == ["413", "body", "end"])
        #expect(await bench.flow.room() == .answered)
    }

    @Test func `an answer to a written request arrives although the connection closes before it is sent`() throws {
        let bench = try Bench()
        let body = bench.write(.body(.byteBuffer(Self.chunk)))
        let end = bench.write(.end(nil))
        try bench.receive(.head(Self.tooLarge))
        #expect(throws: Never.self) { try end.wait() }
        try bench.receive(.end(nil))
        bench.cut()
        #expect(throws: ChannelError.self) { try body.wait() }
        #expect(bench.received.events == ["413", "end", "inactive"])
    }

    @Test func `a success ends after its request`() throws {
        let bench = try Bench()
        _ = bench.write(.body(.byteBuffer(Self.chunk)))
        let end = bench.write(.end(nil))
        try bench.receive(.head(Self.ok), .body(Self.chunk), .end(nil))
        #expect(bench.received.events == ["200", "body"])
        bench.flush()
        #expect(throws: Never.self) { try end.wait() }
        #expect(bench.received.events == ["200", "body", "end"])
    }

    @Test func `a success before the end of its request is lost with the connection`() throws {
        let bench = try Bench()
        let end = bench.write(.end(nil))
        try bench.receive(.head(Self.ok), .end(nil))
        bench.cut()
        #expect(throws: ChannelError.self) { try end.wait() }
        #expect(bench.received.events == ["200", "inactive"])
    }

    @Test func `a whole answer arrives before the end of its connection`() async throws {
        let bench = try Bench()
        _ = bench.write(.body(.byteBuffer(Self.chunk)))
        try bench.receive(.head(Self.tooLarge), .end(nil))
        bench.channel.pipeline.fireErrorCaught(ChannelError.inputClosed)
        bench.cut()
        #expect(bench.received.events == ["413", "end", "inactive"])
        #expect(await bench.flow.room() == .closed(isComplete: true))
    }

    @Test func `a part of an answer is no answer`() async throws {
        let bench = try Bench()
        _ = bench.write(.body(.byteBuffer(Self.chunk)))
        try bench.receive(.head(Self.tooLarge), .body(Self.chunk))
        bench.channel.pipeline.fireErrorCaught(ChannelError.inputClosed)
        bench.cut()
        #expect(bench.received.events == ["error", "inactive"])
        #expect(await bench.flow.room() == .closed(isComplete: false))
    }

    @Test func `an answer after the request passes`() throws {
        let bench = try Bench()
        _ = bench.write(.end(nil))
        bench.flush()
        try bench.receive(.head(Self.tooLarge))
        #expect(bench.received.events == ["413"])
        try bench.receive(.end(nil))
        #expect(bench.received.events == ["413", "end"])
    }

    @Test func `a connection that holds much of an answer stops reading`() throws {
        let bench = try Bench()
        try bench.receive(.head(Self.tooLarge), .body(ByteBuffer(repeating: 0, count: 256 << 10)))
        let reads = bench.reads
        bench.channel.read()
        #expect(bench.reads == reads)
        _ = bench.write(.end(nil))
        #expect(bench.reads == reads + 1)
        try bench.receive(.end(nil))
        #expect(bench.received.events == ["413", "body", "end"])
    }

    @Test func `the body waits for the connection, and not the client`() async throws {
        let bench = try Bench()
        bench.channel.pipeline.fireChannelWritabilityChanged()
        #expect(bench.received.events == [])
        _ = bench.write(.body(.byteBuffer(ByteBuffer(repeating: 0, count: BodyFlow.limit))))
        let room = Task { [flow = bench.flow] in await flow.room() }
        bench.flush()
        #expect(await room.value == .open)
        #expect(await bench.flow.room() == .open)
    }
}
