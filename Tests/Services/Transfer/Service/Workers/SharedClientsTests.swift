import NIOCore
import NIOPosix
import NIOSSL
import Synchronization
import TestSupport
import Testing

@testable import TransferService

/// A server that holds the first connections until all have arrived. Then it closes one and serves the others.
private final class MoodyServer: Sendable {
    private struct State {
        var held: [EventLoopPromise<Bool>] = []
        var isOpen = false
    }

    private let channel: any Channel
    let connections: Tally
    var port: Int { channel.localAddress?.port ?? 0 }

    static func start(_ tls: TLSConfiguration, holding count: Int) async throws -> MoodyServer {
        let context = try NIOSSLContext(configuration: tls)
        let (state, connections) = (SharedState(), Tally())
        let channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .serverChannelOption(.backlog, value: 256)
            .childChannelInitializer { channel in
                let welcome = channel.eventLoop.makePromise(of: Bool.self)
                let ready = state.value.withLock { state -> [EventLoopPromise<Bool>] in
                    guard !state.isOpen else { return [welcome] }
                    state.held.append(welcome)
                    guard state.held.count == count else { return [] }
                    state.isOpen = true
                    return state.held
                }
                connections.add()
                for (index, promise) in ready.enumerated() { promise.succeed(ready.count == 1 || index > 0) }
                return welcome.futureResult.flatMap { isWelcome in
                    guard isWelcome else { return channel.close() }
                    return channel.eventLoop.makeCompletedFuture {
                        try channel.pipeline.syncOperations.addHandler(NIOSSLServerHandler(context: context))
                        try channel.pipeline.syncOperations.addHandler(Yes())
                    }
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        return MoodyServer(channel, connections)
    }

    private final class SharedState: Sendable { let value = Mutex(State()) }

    private init(_ channel: any Channel, _ connections: Tally) {
        self.channel = channel
        self.connections = connections
    }

    deinit { channel.close(promise: nil) }

    private final class Yes: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer
        typealias OutboundOut = ByteBuffer

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            context.writeAndFlush(wrapOutboundOut(ByteBuffer(string: ok("yes"))), promise: nil)
        }
    }
}

/// Secure connections that share a client.
@Suite struct SharedClients {
    @Test func `a failed connection of a shared client does not fail the others`() async throws {
        let count = 2 * HTTPClients.secureLimit
        let certificate = try TestCertificate(names: ["localhost"])
        let server = try await MoodyServer.start(certificate.server, holding: count)
        var fetching = try Fetching("https://localhost:\(server.port)/")
        fetching.origins = try AllowedOrigins("https://localhost:\(server.port)")
        fetching.trustRoots = try certificate.roots
        let answers = try await withThrowingTaskGroup(of: String.self) { [fetching] group in
            for _ in 0..<count { group.addTask { try await fetching.run().body } }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(answers == Array(repeating: "yes", count: count))
        #expect(server.connections.count > count, "the closed connection was opened again")
    }

    /// Responses may take hours, so an exclusive connection waits only until the others are established.
    @Test func `an exclusive connection does not wait for established connections`() async throws {
        let kind = HTTPClients.Kind(
            host: "alone.example", isSecure: true, verification: .system, idleTimeout: .seconds(60),
            trustRoots: .default)
        let count = 3 * HTTPClients.aloneLimit
        let entered = Tally()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<count {
                group.addTask {
                    try await HTTPClients.shared.withClient(kind, isAlone: true) { client in
                        HTTPClients.shared.hasConnected(client)
                        entered.add()
                        try await withTimeout(seconds: 60, "all are in") { try await entered.reaches(count) }
                        #expect(HTTPClients.shared.count(of: kind) <= HTTPClients.aloneLimit)
                    }
                }
            }
            try await group.waitForAll()
        }
    }

    @Test func `an exclusive connection is the only one that its client establishes`() async throws {
        let kind = HTTPClients.Kind(
            host: "crowd.example", isSecure: true, verification: .system, idleTimeout: .seconds(60),
            trustRoots: .default)
        let connecting = Connecting()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for index in 0..<100 {
                group.addTask {
                    try await HTTPClients.shared.withClient(kind, isAlone: !index.isMultiple(of: 3)) { client in
                        guard !index.isMultiple(of: 3) else { return await Task.yield() }
                        let isFirst = connecting.clients.withLock { $0.insert(ObjectIdentifier(client)).inserted }
                        #expect(isFirst)
                        await Task.yield()
                        connecting.clients.withLock { _ = $0.remove(ObjectIdentifier(client)) }
                        HTTPClients.shared.hasConnected(client)
                    }
                }
            }
            try await group.waitForAll()
        }
    }

    private final class Connecting: Sendable { let clients = Mutex<Set<ObjectIdentifier>>([]) }
}
