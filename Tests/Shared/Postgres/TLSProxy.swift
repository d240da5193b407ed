import NIOCore
import NIOPosix
import NIOSSL
import Synchronization
import TestSupport

/// A proxy that terminates TLS, like those of managed databases. It decides where TLS records begin and end.
///
/// After ``cutRecords()`` it buffers each whole answer and sends the last 16 KiB as one record.
final class TLSProxy: Sendable {
    let port: Int
    private let listener: any Channel
    private let shared: Shared

    /// The state that all connections share.
    fileprivate final class Shared: Sendable {
        let isCutting = Atomic(false)
        let context: NIOSSLContext
        let server: Int

        init(_ context: NIOSSLContext, server: Int) {
            self.context = context
            self.server = server
        }
    }

    static func start(port server: Int) async throws -> TLSProxy {
        let files = try await PEMCertificate.make()
        let context = try NIOSSLContext(
            configuration: .makeServerConfiguration(
                certificateChain: try NIOSSLCertificate.fromPEMFile(files.chainFile).map { .certificate($0) },
                privateKey: .privateKey(try NIOSSLPrivateKey(file: files.keyFile, format: .pem))))
        let shared = Shared(context, server: server)
        let listener = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelInitializer { client in
                client.eventLoop.makeCompletedFuture {
                    try client.pipeline.syncOperations.addHandler(Front(shared))
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        return TLSProxy(listener, shared)
    }

    private init(_ listener: any Channel, _ shared: Shared) {
        self.listener = listener
        self.shared = shared
        port = listener.localAddress?.port ?? 0
    }

    func cutRecords() { shared.isCutting.store(true, ordering: .relaxed) }
    func stop() async throws { try await listener.close().get() }
}

/// The client side. It accepts the request for TLS and then forwards the decrypted bytes.
private final class Front: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let shared: TLSProxy.Shared
    private var isEncrypted = false
    private var server: (any Channel)?
    private var early: [ByteBuffer] = []

    init(_ shared: TLSProxy.Shared) { self.shared = shared }

    func channelActive(context: ChannelHandlerContext) {
        let client = context.channel
        let bound = NIOLoopBound(self, eventLoop: context.eventLoop)
        ClientBootstrap(group: context.eventLoop)
            .channelInitializer { [shared] server in
                server.eventLoop.makeCompletedFuture {
                    try server.pipeline.syncOperations.addHandler(Back(client, shared))
                }
            }
            .connect(host: "127.0.0.1", port: shared.server)
            .whenSuccess { server in
                bound.value.server = server
                for bytes in bound.value.early { server.writeAndFlush(bytes, promise: nil) }
                bound.value.early = []
            }
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let bytes = unwrapInboundIn(data)
        guard isEncrypted else {
            isEncrypted = true
            // Until the answer, a client sends only the request for TLS.
            context.writeAndFlush(NIOAny(ByteBuffer(string: "S")), promise: nil)
            try? context.pipeline.syncOperations.addHandler(
                NIOSSLServerHandler(context: shared.context), position: .first)
            return
        }
        guard let server else { return early.append(bytes) }
        server.writeAndFlush(bytes, promise: nil)
    }

    func channelInactive(context: ChannelHandlerContext) { server?.close(promise: nil) }
}

/// The server side.
private final class Back: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private static let record = 16_384
    private let client: any Channel
    private let shared: TLSProxy.Shared
    private var answer = ByteBuffer()

    init(_ client: any Channel, _ shared: TLSProxy.Shared) {
        self.client = client
        self.shared = shared
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        var bytes = unwrapInboundIn(data)
        guard shared.isCutting.load(ordering: .relaxed) else { return client.writeAndFlush(bytes, promise: nil) }
        answer.writeBuffer(&bytes)
        // ReadyForQuery ends an answer: its type, its length of 5, and the transaction status.
        guard Array(answer.readableBytesView.suffix(6).prefix(5)) == [0x5A, 0, 0, 0, 5] else { return }
        if answer.readableBytes > Self.record, let first = answer.readSlice(length: answer.readableBytes - Self.record)
        {
            client.writeAndFlush(first, promise: nil)
        }
        client.writeAndFlush(answer, promise: nil)
        answer = ByteBuffer()
    }

    func channelInactive(context: ChannelHandlerContext) { client.close(promise: nil) }
}
