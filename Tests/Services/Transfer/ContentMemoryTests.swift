import Foundation
import Glibc
import NIOCore
import NIOHTTP1
import NIOPosix
import TestSupport
import Testing

/// What Linux tells of a process, in bytes.
enum Memory {
    /// The most that it had in memory since it began, or since ``forgetMost(of:)``.
    static func most(of pid: pid_t) throws -> Int { try read("VmHWM", pid) }
    /// Lets what it has now be the most for the time being.
    static func forgetMost(of pid: pid_t) throws {
        let file = try FileHandle(forWritingTo: URL(fileURLWithPath: "/proc/\(pid)/clear_refs"))
        try file.write(contentsOf: Data("5".utf8))
        try file.close()
    }
    /// What it has now.
    static func now(of pid: pid_t) throws -> Int { try read("VmRSS", pid) }

    private static func read(_ name: String, _ pid: pid_t) throws -> Int {
        let status = try String(contentsOfFile: "/proc/\(pid)/status", encoding: .utf8)
        let line = status.split(separator: "\n").first { $0.hasPrefix(name + ":") }
        return (line?.split(whereSeparator: { !$0.isNumber }).first.flatMap { Int($0) } ?? 0) << 10
    }
}

@Suite struct SlowReaders {
    /// If the service read ahead of them, it would have 2 GiB in memory.
    @Test func takeNoMemory() async throws {
        let (suite, transfer) = try await TransferSuite.start()
        defer { transfer.signal(SIGTERM) }
        let size = 64 << 20
        let content = ByteBuffer(repeating: 7, count: size)
        let put = try await suite.send(.PUT, suite.transferPort, "/content/large", content)
        try #require(put.status == 201)
        let before = try Memory.now(of: transfer.pid)
        var readers: [any Channel] = []
        for index in 0..<32 {
            let range = index.isMultiple(of: 2) ? "bytes=0-" : "bytes=0-33554430,33554432-67108863"
            readers.append(try await begin(suite.transferPort, range))
        }
        // Whoever does read gets all of it, while the others stand still.
        for _ in 0..<3 {
            let whole = try await suite.send(.GET, suite.transferPort, "/content/large")
            #expect(whole.body == content)
        }
        let grown = try Memory.now(of: transfer.pid) - before
        #expect(grown < 96 << 20, "\(grown >> 20) MiB more")
        for reader in readers { try? await reader.close().get() }
    }

    /// Asks, takes the first bytes of the answer, and no more.
    private func begin(_ port: Int, _ range: String) async throws -> any Channel {
        let begun = Signal<Void>()
        let channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .channelOption(.autoRead, value: false)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(FirstBytes(begun))
                }
            }
            .connect(host: "127.0.0.1", port: port).get()
        try await channel.writeAndFlush(
            ByteBuffer(string: "GET /content/large HTTP/1.1\r\nHost: a\r\nRange: \(range)\r\n\r\n")
        ).get()
        channel.read()
        try await withTimeout(seconds: 60, "an answer begins") { try await begun.value() }
        return channel
    }

    private final class FirstBytes: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer
        private let begun: Signal<Void>

        init(_ begun: Signal<Void>) { self.begun = begun }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            // One read takes a few buffers.
            let buffer = unwrapInboundIn(data)
            guard begun.fire() else { return }
            #expect(String(buffer: buffer).hasPrefix("HTTP/1.1 206 "))
        }
    }
}
