import Foundation
public import NIOCore
public import NIOHTTP1
import NIOPosix
public import NIOSSL
import Synchronization

/// A received request.
public struct CannedRequest: Sendable {
    public var method = ""
    public var path = ""
    public var headers: HTTPHeaders = [:]
    public var body = ByteBuffer()
    /// The value of the `Host` field.
    public var host: String { headers.first(name: "Host") ?? "" }
}

/// A server that answers every request with a text of the test, byte for byte.
public final class CannedServer: Sendable {
    public typealias Answer = @Sendable (CannedRequest) -> String
    /// A mark at the end of a response: the server closes the connection after it.
    public static let close = "\u{0}"

    private let channel: any Channel
    private let tally: Tally
    private let service: Service
    public var port: Int { channel.localAddress?.port ?? 0 }
    public var requests: Int { tally.count }
    public func url(_ path: String = "/") -> String { "http://127.0.0.1:\(port)\(path)" }

    /// - Parameters:
    ///   - isEarly: Whether to answer after the head. The server then drops the body.
    ///   - tls: The configuration of an https server.
    public static func start(
        host: String = "127.0.0.1", port: Int = 0, tls: TLSConfiguration? = nil, isEarly: Bool = false,
        _ answer: @escaping Answer
    ) async throws -> CannedServer {
        let tally = Tally()
        let service = try Service(tls, answer)
        let channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .serverChannelOption(.backlog, value: 256)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let (context, answer) = service.current
                    if let context {
                        try channel.pipeline.syncOperations.addHandler(NIOSSLServerHandler(context: context))
                    }
                    try channel.pipeline.syncOperations.addHandler(Handler(answer, isEarly, tally))
                }
            }
            .bind(host: host, port: port).get()
        return CannedServer(channel, tally, service)
    }

    private init(_ channel: any Channel, _ tally: Tally, _ service: Service) {
        self.channel = channel
        self.tally = tally
        self.service = service
    }

    /// Gives later connections another certificate and other answers, as another server at the same port would.
    public func replace(tls: TLSConfiguration?, _ answer: @escaping Answer) throws { try service.replace(tls, answer) }

    /// Returns when the port is free. Open connections continue.
    public func stop() async throws { try await channel.close() }

    deinit { channel.close(promise: nil) }

    /// What a new connection gets.
    private final class Service: Sendable {
        private let value: Mutex<(context: NIOSSLContext?, answer: Answer)>
        var current: (context: NIOSSLContext?, answer: Answer) { value.withLock { $0 } }

        init(_ tls: TLSConfiguration?, _ answer: @escaping Answer) throws {
            let context = try tls.map { try NIOSSLContext(configuration: $0) }
            value = Mutex((context, answer))
        }

        func replace(_ tls: TLSConfiguration?, _ answer: @escaping Answer) throws {
            let context = try tls.map { try NIOSSLContext(configuration: $0) }
            value.withLock { $0 = (context, answer) }
        }
    }

    private final class Handler: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer
        typealias OutboundOut = ByteBuffer
        private let answer: Answer
        private let isEarly: Bool
        private let tally: Tally
        private var received = ByteBuffer()
        private var request: CannedRequest?
        /// The bytes of the body that are not received yet.
        private var missing = 0

        init(_ answer: @escaping Answer, _ isEarly: Bool, _ tally: Tally) {
            self.answer = answer
            self.isEarly = isEarly
            self.tally = tally
        }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            received.writeImmutableBuffer(unwrapInboundIn(data))
            if request == nil {
                readHead()
                if isEarly, let request { reply(to: request, context) }
            }
            guard request != nil, let part = received.readSlice(length: min(missing, received.readableBytes)) else {
                return
            }
            missing -= part.readableBytes
            if !isEarly { request?.body.writeImmutableBuffer(part) }
            guard missing == 0, let request else { return }
            self.request = nil
            if !isEarly { reply(to: request, context) }
        }

        private func readHead() {
            let view = received.readableBytesView
            guard let end = view.firstRange(of: Array("\r\n\r\n".utf8)) else { return }
            let head = String(decoding: view[..<end.lowerBound], as: UTF8.self)
            received.moveReaderIndex(to: end.upperBound)
            let lines = head.components(separatedBy: "\r\n")
            let words = lines[0].split(separator: " ")
            var request = CannedRequest(method: String(words[0]), path: String(words[1]))
            for line in lines.dropFirst() {
                let parts = line.split(separator: ":", maxSplits: 1)
                request.headers.add(name: String(parts[0]), value: parts[1].trimmingCharacters(in: .whitespaces))
            }
            missing = request.headers.first(name: "Content-Length").flatMap { Int($0) } ?? 0
            self.request = request
        }

        private func reply(to request: CannedRequest, _ context: ChannelHandlerContext) {
            tally.add()
            let text = answer(request)
            let closes = text.hasSuffix(CannedServer.close)
            let buffer = ByteBuffer(string: closes ? String(text.dropLast()) : text)
            context.writeAndFlush(wrapOutboundOut(buffer), promise: nil)
            if closes { context.close(promise: nil) }
        }
    }
}
