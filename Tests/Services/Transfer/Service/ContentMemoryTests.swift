import Foundation
import Glibc
import NIOCore
import NIOHTTP1
import NIOPosix
import TestSupport
import Testing

/// Memory of a process in bytes, from Linux.
enum Memory {
    /// Returns the peak since the start of the process or the last ``forgetMost(of:)``.
    static func most(of pid: pid_t) throws -> Int { try read("VmHWM", pid) }
    /// Resets the peak to the current use.
    static func forgetMost(of pid: pid_t) throws {
        let file = try FileHandle(forWritingTo: URL(fileURLWithPath: "/proc/\(pid)/clear_refs"))
        try file.write(contentsOf: Data("5".utf8))
        try file.close()
    }
    /// Returns the current use.
    static func now(of pid: pid_t) throws -> Int { try read("VmRSS", pid) }

    private static func read(_ name: String, _ pid: pid_t) throws -> Int {
        let status = try String(contentsOfFile: "/proc/\(pid)/status", encoding: .utf8)
        let line = status.split(separator: "\n").first { $0.hasPrefix(name + ":") }
        return (line?.split(whereSeparator: { !$0.isNumber }).first.flatMap { Int($0) } ?? 0) << 10
    }
}

@Suite(.tags(.database, .processes)) struct SlowReaders {
    /// If the service read ahead, it would need 2 GiB of memory.
    @Test func `slow readers take no memory`() async throws {
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
        // Fast readers get the whole file while the slow ones wait.
        for _ in 0..<3 {
            let whole = try await suite.send(.GET, suite.transferPort, "/content/large")
            #expect(whole.body == content)
        }
        let grown = try Memory.now(of: transfer.pid) - before
        #expect(grown < 96 << 20, "\(grown >> 20) MiB more")
        for reader in readers { try? await reader.close().get() }
    }

    /// Sends a request and reads only the first bytes of the response.
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
        try await withTimeout(seconds: 60, "a response begins") { try await begun.value() }
        return channel
    }

    private final class FirstBytes: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer
        private let begun: Signal<Void>

        init(_ begun: Signal<Void>) { self.begun = begun }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            // One read can deliver several buffers.
            let buffer = unwrapInboundIn(data)
            guard begun.fire() else { return }
            #expect(String(buffer: buffer).hasPrefix("HTTP/1.1 206 "))
        }
    }
}
