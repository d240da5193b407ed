import NIOCore
import NIOHPACK
import NIOHTTP2
import NIOPosix
import NIOSSL
import Synchronization
import TestSupport

/// Many connections that do one hostile thing, again and again, until they are told to leave.
///
/// A connection that the service closes comes back after a pause.
public final class HostileCrowd: Sendable {
    /// The thing that all connections of a crowd do.
    public enum Kind: String, CaseIterable, Sendable {
        /// Requests with a token that nobody issued.
        case garbageTokens = "garbage tokens"
        /// JSON bodies that arrive one byte a second.
        case drippedBodies = "dripped bodies"
        /// Long polls with one device's token.
        case longPolls = "long polls"
        /// Connections to the TLS port that send nothing.
        case silentTLS = "silent TLS"
        /// HTTP/2 requests without a provider's token.
        case refusedHTTP2 = "refused HTTP/2 requests"
        /// Requests for the digest of a large file.
        case wantedDigests = "digests of a large file"
    }

    /// The ports of the suite on 127.0.0.1, and what a hostile client knows.
    public struct Targets: Sendable {
        public var lifecycle: Int
        public var push: Int
        /// The port for providers, with TLS.
        public var apns: Int
        public var transfer: Int
        /// A device of the hostile client, and its valid token.
        public var device: String
        public var token: String
        /// The path of a large file of `transfer`.
        public var content: String

        public init(
            lifecycle: Int, push: Int, apns: Int, transfer: Int, device: String, token: String, content: String
        ) {
            (self.lifecycle, self.push, self.apns, self.transfer) = (lifecycle, push, apns, transfer)
            (self.device, self.token, self.content) = (device, token, content)
        }
    }

    private struct Seen {
        var answers: [Int: Int] = [:]
        var isOver = false
        var channels: [ObjectIdentifier: any Channel] = [:]
    }

    /// Threads of its own, so that a crowd delays no other client of the process.
    private static let loops = MultiThreadedEventLoopGroup(numberOfThreads: 2)

    public let kind: Kind
    private let targets: Targets
    private let count: Int
    private let tls: NIOSSLContext
    private let seen = Mutex(Seen())

    /// - Parameter count: the number of connections.
    public init(_ kind: Kind, count: Int, _ targets: Targets) throws {
        (self.kind, self.count, self.targets) = (kind, count, targets)
        var configuration = TLSConfiguration.makeClientConfiguration()
        configuration.certificateVerification = .none
        configuration.applicationProtocols = ["h2"]
        tls = try NIOSSLContext(configuration: configuration)
    }

    /// The number of answers by status. 0 counts the connections that the service closed.
    public var answers: [Int: Int] { seen.withLock { $0.answers } }

    /// The number of open connections.
    public var open: Int { seen.withLock { $0.channels.count } }

    /// Opens all connections, 100 at a time.
    public func gather() async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for index in 0..<count {
                if index >= 100 { try await group.next() }
                group.addTask { try await self.connect().get() }
            }
            try await group.waitForAll()
        }
    }

    /// Closes all connections.
    public func leave() async {
        let channels = seen.withLock { seen in
            seen.isOver = true
            return Array(seen.channels.values)
        }
        for channel in channels { try? await channel.close() }
    }

    private var port: Int {
        switch kind {
        case .garbageTokens, .drippedBodies: targets.lifecycle
        case .longPolls: targets.push
        case .silentTLS, .refusedHTTP2: targets.apns
        case .wantedDigests: targets.transfer
        }
    }

    private func connect() -> EventLoopFuture<Void> {
        let loop = Self.loops.next()
        return ClientBootstrap(group: loop)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture { try self.equip(channel.pipeline.syncOperations) }
            }
            .connect(host: "127.0.0.1", port: port)
            .map { channel in
                let id = ObjectIdentifier(channel)
                let isOver = self.seen.withLock { seen in
                    if !seen.isOver { seen.channels[id] = channel }
                    return seen.isOver
                }
                channel.closeFuture.whenComplete { _ in self.left(id, loop) }
                if isOver { channel.close(promise: nil) }
            }
    }

    private func left(_ id: ObjectIdentifier, _ loop: any EventLoop) {
        let isOver = seen.withLock { seen in
            seen.channels[id] = nil
            if !seen.isOver { seen.answers[0, default: 0] += 1 }
            return seen.isOver
        }
        guard !isOver else { return }
        loop.scheduleTask(in: .seconds(1)) { self.connect().whenFailure { _ in } }
    }

    private func equip(_ pipeline: ChannelPipeline.SynchronousOperations) throws {
        let heard: @Sendable (Int) -> Void = { status in
            self.seen.withLock { $0.answers[status, default: 0] += 1 }
        }
        switch kind {
        case .silentTLS: break
        case .refusedHTTP2:
            try pipeline.addHandler(NIOSSLClientHandler(context: tls, serverHostname: "localhost"))
            let streams = try pipeline.configureHTTP2Pipeline(
                mode: .client, connectionConfiguration: .init(), streamConfiguration: .init()
            ) { $0.eventLoop.makeSucceededVoidFuture() }
            try pipeline.addHandler(RefusedStreams(streams, heard))
        case .garbageTokens, .longPolls, .wantedDigests:
            try pipeline.addHandler(RepeatedRequest(request, drips: "", heard))
        case .drippedBodies:
            try pipeline.addHandler(
                RepeatedRequest(request, drips: String(repeating: " ", count: 300), heard))
        }
    }

    /// The request over HTTP/1.1.
    private var request: String {
        let device = "/v1/devices/\(targets.device)"
        let authorization = "Authorization: Bearer \(targets.token)\r\n"
        let lines =
            switch kind {
            case .garbageTokens: "GET \(device) HTTP/1.1\r\nAuthorization: Bearer garbage\r\n"
            case .drippedBodies:
                "PATCH \(device)/conditions HTTP/1.1\r\n\(authorization)Content-Type: application/json\r\n"
                    + "Content-Length: 300\r\n"
            case .longPolls: "GET \(device)/notifications?wait=30 HTTP/1.1\r\n\(authorization)"
            case .wantedDigests:
                "GET \(targets.content) HTTP/1.1\r\n\(authorization)Want-Repr-Digest: sha-512=9\r\nRange: bytes=0-0\r\n"
            case .silentTLS, .refusedHTTP2: ""
            }
        return lines + "Host: 127.0.0.1\r\n\r\n"
    }
}

/// Sends a request over HTTP/1.1, and again two seconds after each answer. It finds an answer by its status line, so it
/// expects answers one at a time.
private final class RepeatedRequest: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private static let pause = TimeAmount.seconds(2)
    private let request: ByteBuffer
    private let drips: String
    private let heard: @Sendable (Int) -> Void
    private var dripping: RepeatedTask?
    /// The bytes of the body that are not sent yet.
    private var left = 0

    /// - Parameter drips: a body of which one byte is sent each second.
    init(_ request: String, drips: String, _ heard: @escaping @Sendable (Int) -> Void) {
        (self.request, self.drips, self.heard) = (ByteBuffer(string: request), drips, heard)
    }

    func channelActive(context: ChannelHandlerContext) { send(context) }

    private func send(_ context: ChannelHandlerContext) {
        context.writeAndFlush(wrapOutboundOut(request), promise: nil)
        guard !drips.isEmpty else { return }
        let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
        left = drips.utf8.count
        dripping?.cancel()
        dripping = context.eventLoop.scheduleRepeatedTask(initialDelay: .seconds(1), delay: .seconds(1)) { task in
            let (handler, context) = bound.value
            handler.left -= 1
            guard handler.left >= 0, context.channel.isActive else { return task.cancel() }
            context.writeAndFlush(handler.wrapOutboundOut(ByteBuffer(string: " ")), promise: nil)
        }
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let buffer = unwrapInboundIn(data)
        let text = buffer.getString(at: buffer.readerIndex, length: min(12, buffer.readableBytes)) ?? ""
        guard text.hasPrefix("HTTP/1.1 "), let status = Int(text.suffix(3)), status >= 200 else { return }
        heard(status)
        dripping?.cancel()
        let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
        context.eventLoop.scheduleTask(in: Self.pause) {
            let (handler, context) = bound.value
            if context.channel.isActive { handler.send(context) }
        }
    }

    func channelInactive(context: ChannelHandlerContext) { dripping?.cancel() }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
}

/// Opens a stream with a request that the service refuses, and another one two seconds after each answer.
private final class RefusedStreams: ChannelInboundHandler {
    typealias InboundIn = Any

    private let streams: NIOHTTP2Handler.StreamMultiplexer
    private let heard: @Sendable (Int) -> Void

    init(_ streams: NIOHTTP2Handler.StreamMultiplexer, _ heard: @escaping @Sendable (Int) -> Void) {
        (self.streams, self.heard) = (streams, heard)
    }

    func channelActive(context: ChannelHandlerContext) {
        send(context.channel)
        context.fireChannelActive()
    }

    private func send(_ channel: any Channel) {
        let heard = heard
        let bound = NIOLoopBound(self, eventLoop: channel.eventLoop)
        streams.createStreamChannel(promise: nil) { stream in
            stream.eventLoop.makeCompletedFuture {
                try stream.pipeline.syncOperations.addHandler(
                    RefusedStream { status in
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

/// A notification without a provider's token.
private final class RefusedStream: ChannelInboundHandler {
    typealias InboundIn = HTTP2Frame.FramePayload
    typealias OutboundOut = HTTP2Frame.FramePayload

    private let answered: (Int) -> Void

    init(_ answered: @escaping (Int) -> Void) { self.answered = answered }

    func channelActive(context: ChannelHandlerContext) {
        let headers: HPACKHeaders = [
            ":method": "POST", ":scheme": "https", ":authority": "localhost",
            ":path": "/3/device/" + String(repeating: "0", count: 64), "apns-topic": "a", "apns-push-type": "alert",
        ]
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
