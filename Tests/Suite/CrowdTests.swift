import Foundation
import NIOCore
import NIOPosix
import TestSupport
import Testing

/// Memory after thousands of clients have disconnected.
@Suite("Memory after many connections", .tags(.database, .processes), .timeLimit(.minutes(5))) struct CrowdTests {
    private static let count = 3000
    /// A thread of its own, so that the crowd delays no other test.
    private static let loops = MultiThreadedEventLoopGroup(numberOfThreads: 1)

    @Test func `memory returns to the system after thousands of connections have left`() async throws {
        allowManyFiles()
        let suite = try await RunningSuite.start([.lifecycle])
        let before = try suite.residentBytes(of: .lifecycle)
        let crowd = try await withThrowingTaskGroup(of: (any Channel).self) { group in
            var crowd: [any Channel] = []
            for index in 0..<Self.count {
                if index >= 100, let next = try await group.next() { crowd.append(next) }
                group.addTask { try await visitor(suite.port(.lifecycle)) }
            }
            for try await next in group { crowd.append(next) }
            return crowd
        }
        let crowded = try suite.residentBytes(of: .lifecycle)
        #expect(crowded > before + 40 << 20, "the connections took \((crowded - before) >> 20) MiB")
        for visitor in crowd {
            // On a slow machine, the service has closed the first ones for being idle.
            do { try await visitor.close() } catch ChannelError.alreadyClosed { continue }
        }
        try await eventually(within: 90, describe: "most memory of the connections is released") {
            try suite.residentBytes(of: .lifecycle) < before + (crowded - before) / 2
        }
        _ = try await suite.stop()
        try await suite.cluster.destroy()
    }

    /// Opens a connection and waits for one response.
    private func visitor(_ port: Int) async throws -> any Channel {
        let answered = Signal<Void>()
        let channel = try await ClientBootstrap(group: Self.loops)
            .channelInitializer { $0.pipeline.addHandler(FirstAnswer(answered)) }
            .connect(host: "127.0.0.1", port: port).get()
        try await channel.writeAndFlush(ByteBuffer(string: "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"))
        try await answered.value()
        return channel
    }

    private final class FirstAnswer: ChannelInboundHandler, Sendable {
        typealias InboundIn = ByteBuffer
        private let signal: Signal<Void>

        init(_ signal: Signal<Void>) { self.signal = signal }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) { signal.fire(()) }
        func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
    }
}
