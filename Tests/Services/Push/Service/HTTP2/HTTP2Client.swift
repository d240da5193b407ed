import Foundation
import NIOCore
import NIOHPACK
import NIOHTTP2
import NIOPosix
import NIOSSL
import TestSupport

/// An HTTP/2 client that reads and sends single frames.
final class HTTP2Client: Sendable {
    struct Answer: Sendable {
        var status = ""
        var headers = HPACKHeaders()
        var body: [UInt8] = []
        /// Whether the headers frame ended the stream.
        var endedOnHeaders = false
        var resetBy: HTTP2ErrorCode?

        var text: String { String(decoding: body, as: UTF8.self) }
    }

    private let channel: any Channel
    private let frames: AsyncStream<HTTP2Frame>

    private init(_ channel: any Channel, _ frames: AsyncStream<HTTP2Frame>) {
        self.channel = channel
        self.frames = frames
    }

    /// - Parameters:
    ///   - authority: the file of the trusted certificates; nil connects without TLS.
    ///   - certificate: the file with the client certificate and key.
    static func connect(port: Int, authority: String?, certificate: String? = nil) async throws -> HTTP2Client {
        let (frames, found) = AsyncStream<HTTP2Frame>.makeStream()
        let tls = try authority.map { authority in
            var configuration = TLSConfiguration.makeClientConfiguration()
            configuration.trustRoots = .file(authority)
            configuration.applicationProtocols = ["h2"]
            if let certificate {
                configuration.certificateChain = try NIOSSLCertificate.fromPEMFile(certificate).map { .certificate($0) }
                configuration.privateKey = .privateKey(try NIOSSLPrivateKey(file: certificate, format: .pem))
            }
            return try NIOSSLContext(configuration: configuration)
        }
        let channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let pipeline = channel.pipeline.syncOperations
                    if let tls {
                        try pipeline.addHandler(NIOSSLClientHandler(context: tls, serverHostname: "localhost"))
                    }
                    try pipeline.addHandlers([
                        NIOHTTP2Handler(mode: .client, initialSettings: nioDefaultSettings), Collector(found),
                    ])
                }
            }
            .connect(host: "127.0.0.1", port: port).get()
        let client = HTTP2Client(channel, frames)
        // The client never updates the window, so the window has its largest size.
        try await client.send(0, .windowUpdate(windowSizeIncrement: 1 << 30))
        return client
    }

    func send(_ stream: Int, _ payload: HTTP2Frame.FramePayload) async throws {
        try await channel.writeAndFlush(HTTP2Frame(streamID: HTTP2StreamID(stream), payload: payload))
    }

    /// Sends a request on a stream.
    ///
    /// - Parameter ends: whether the request is complete.
    func request(
        _ stream: Int, _ method: String = "POST", _ path: String, _ headers: [(String, String)] = [],
        body: [UInt8] = [], ends: Bool = true
    ) async throws {
        let all = HPACKHeaders(
            [(":method", method), (":path", path), (":scheme", "https"), (":authority", "localhost")] + headers)
        try await send(stream, .headers(.init(headers: all, endStream: ends && body.isEmpty)))
        guard !body.isEmpty else { return }
        try await send(stream, .data(.init(data: .byteBuffer(ByteBuffer(bytes: body)), endStream: ends)))
    }

    /// Returns the next frame that `pick` accepts; nil at the end of the connection.
    func next<T: Sendable>(_ pick: @Sendable @escaping (HTTP2Frame) -> T?) async throws -> T? {
        let frames = frames
        return try await withTimeout(seconds: 60, "a frame") {
            for await frame in frames {
                if let picked = pick(frame) { return picked }
            }
            return nil
        }
    }

    /// Returns the complete answer of a stream.
    func answer(_ stream: Int) async throws -> Answer {
        let frames = frames
        return try await withTimeout(seconds: 60, "the answer of stream \(stream)") {
            var answer = Answer()
            for await frame in frames where frame.streamID == HTTP2StreamID(stream) {
                switch frame.payload {
                case .headers(let part):
                    answer.status = part.headers.first(name: ":status") ?? ""
                    answer.headers = part.headers
                    answer.endedOnHeaders = part.endStream
                    if part.endStream { return answer }
                case .data(let part):
                    if case .byteBuffer(let buffer) = part.data { answer.body += Array(buffer: buffer) }
                    if part.endStream { return answer }
                case .rstStream(let code):
                    answer.resetBy = code
                    return answer
                default: break
                }
            }
            return answer
        }
    }

    /// Returns the answers of several streams, in any order.
    func answers(from first: Int, count: Int) async throws -> [Answer] {
        let frames = frames
        return try await withTimeout(seconds: 120, "\(count) answers") {
            var answers: [HTTP2StreamID: Answer] = [:]
            var open = Set((0..<count).map { HTTP2StreamID(first + 2 * $0) })
            for await frame in frames where open.contains(frame.streamID) {
                switch frame.payload {
                case .headers(let part):
                    answers[frame.streamID, default: Answer()].status = part.headers.first(name: ":status") ?? ""
                    answers[frame.streamID]?.headers = part.headers
                    if part.endStream { open.remove(frame.streamID) }
                case .data(let part):
                    if case .byteBuffer(let buffer) = part.data {
                        answers[frame.streamID]?.body += Array(buffer: buffer)
                    }
                    if part.endStream { open.remove(frame.streamID) }
                case .rstStream: open.remove(frame.streamID)
                default: break
                }
                if open.isEmpty { break }
            }
            guard open.isEmpty else { throw HostileFailure("the connection ended, \(open.count) unanswered") }
            return Array(answers.values)
        }
    }

    /// Sends a request and returns its answer.
    func exchange(
        _ stream: Int, _ method: String = "POST", _ path: String, _ headers: [(String, String)] = [],
        body: [UInt8] = []
    ) async throws -> Answer {
        try await request(stream, method, path, headers, body: body)
        return try await answer(stream)
    }

    /// Returns the JSON text of the next GOAWAY.
    func goAway() async throws -> String? {
        try await next { frame in
            guard case .goAway(_, _, let data) = frame.payload else { return nil }
            return data.map { String(buffer: $0) } ?? ""
        }
    }

    func closed() async throws {
        let channel = channel
        try await withTimeout(seconds: 60, "the end of the connection") { try await channel.closeFuture.get() }
    }

    func close() async { try? await channel.close() }
}

private final class Collector: ChannelInboundHandler {
    typealias InboundIn = HTTP2Frame
    private let found: AsyncStream<HTTP2Frame>.Continuation

    init(_ found: AsyncStream<HTTP2Frame>.Continuation) { self.found = found }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) { found.yield(unwrapInboundIn(data)) }

    func channelInactive(context: ChannelHandlerContext) { found.finish() }

    // Errors are ignored: tests notice them by missing frames.
    func errorCaught(context: ChannelHandlerContext, error: any Error) {}
}
