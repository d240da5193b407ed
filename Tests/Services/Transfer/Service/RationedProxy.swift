import NIOCore
import NIOPosix
import Synchronization
import TestSupport

/// A TCP proxy that cuts or slows down its first connections after a number of bytes in one direction.
///
/// It cuts at the exact byte, so that even a file that fits into the socket buffers is cut in the middle. `TCPProxy`
/// cuts when the test asks for it.
struct RationedProxy {
    /// The port on 127.0.0.1 where it listens.
    let port: Int
    /// The number of connections.
    let connections = Tally()
    /// The number of connections that have used up their ration.
    let spent = Tally()
    private let released = Signal<Void>()
    private let atRation: Fate
    private let passed = Passed()
    /// The number of rationed bytes that have passed.
    var bytes: Int { passed.count.withLock(\.self) }

    /// The direction of the rationed bytes.
    enum Way { case toClient, toServer }

    /// The fate of a connection that has used up its ration.
    enum Fate {
        case cut
        /// One KiB passes each 50 ms until ``RationedProxy/release()``.
        case slow
    }

    /// Ends all limits.
    func release() { released.fire() }

    private final class Passed: Sendable { let count = Mutex(0) }
    private struct Cut: Error {}
    private typealias Stream = NIOAsyncChannel<ByteBuffer, ByteBuffer>

    /// - Parameter rations: The bytes of the first connection, the second, and so on. Later connections have no limit.
    static func with(
        to target: Int, rations: [Int], _ way: Way = .toClient, then fate: Fate = .cut,
        _ body: @Sendable (RationedProxy) async throws -> Void
    ) async throws {
        let server = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .serverChannelOption(.backlog, value: 256)
            .bind(host: "127.0.0.1", port: 0) { channel in
                channel.eventLoop.makeCompletedFuture { try Stream(wrappingChannelSynchronously: channel) }
            }
        let proxy = RationedProxy(port: server.channel.localAddress?.port ?? 0, atRation: fate)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                try await server.executeThenClose { clients in
                    await withTaskGroup(of: Void.self) { links in
                        defer { links.cancelAll() }
                        var rest = rations[...]
                        var iterator = clients.makeAsyncIterator()
                        // A cut, by the proxy or by one side, is not an error.
                        while let client = try? await iterator.next() {
                            proxy.connections.add()
                            let ration = rest.popFirst() ?? Int.max
                            links.addTask { try? await proxy.relay(client, to: target, way, ration) }
                        }
                    }
                }
            }
            try await body(proxy)
            group.cancelAll()
        }
    }

    private func crawl(
        _ buffer: ByteBuffer, to client: NIOAsyncChannelOutboundWriter<ByteBuffer>
    ) async throws {
        var rest = buffer
        while rest.readableBytes > 0 {
            let length = released.hasFired ? rest.readableBytes : min(1024, rest.readableBytes)
            if let slice = rest.readSlice(length: length) { try await client.write(slice) }
            guard !released.hasFired else { continue }
            do { try await withTimeout(seconds: 0.05) { try await released.value() } } catch is TimedOut {}
        }
    }

    private func relay(_ client: Stream, to target: Int, _ way: Way, _ ration: Int) async throws {
        // NIO requires that every channel is closed, also if the server cannot be reached.
        try await client.executeThenClose { fromClient, toClient in
            let server = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
                // A small buffer, so that blocked bytes stay at the server.
                .channelOption(.socketOption(.so_rcvbuf), value: 65_536)
                .connect(host: "127.0.0.1", port: target) { channel in
                    channel.eventLoop.makeCompletedFuture { try Stream(wrappingChannelSynchronously: channel) }
                }
            try await server.executeThenClose { fromServer, toServer in
                // The side that ends first ends both.
                try await withThrowingTaskGroup(of: Void.self) { group in
                    defer { group.cancelAll() }
                    group.addTask { try await pass(fromClient, toServer, way == .toServer ? ration : nil) }
                    group.addTask { try await pass(fromServer, toClient, way == .toClient ? ration : nil) }
                    try await group.next()
                }
            }
        }
    }

    /// - Parameter ration: The bytes that may pass; nil for the unlimited direction.
    private func pass(
        _ source: NIOAsyncChannelInboundStream<ByteBuffer>, _ target: NIOAsyncChannelOutboundWriter<ByteBuffer>,
        _ ration: Int?
    ) async throws {
        guard var left = ration else {
            for try await buffer in source { try await target.write(buffer) }
            return
        }
        var isSpent = false
        for try await var buffer in source {
            if let slice = buffer.readSlice(length: min(left, buffer.readableBytes)) {
                left -= slice.readableBytes
                passed.count.withLock { $0 += slice.readableBytes }
                try await target.write(slice)
            }
            guard left == 0 else { continue }
            if !isSpent { spent.add() }
            isSpent = true
            if atRation == .cut { throw Cut() }
            try await crawl(buffer, to: target)
        }
    }
}
