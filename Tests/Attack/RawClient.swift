import Foundation
import NIOCore
import NIOPosix
import Synchronization
import TestSupport

/// Sends bytes that are not a request, or only part of one, and checks the answer.
struct RawClient {
    let suite: AttackedSuite
    let book: HostileBook
    let pause: Duration
    private var random: SplitMix64
    private var documents: HostileDocuments

    init(_ suite: AttackedSuite, _ book: HostileBook, pause: Duration, seed: UInt64) {
        (self.suite, self.book, self.pause) = (suite, book, pause)
        random = SplitMix64(seed: seed)
        documents = HostileDocuments(seed: seed &+ 1)
    }

    /// Runs until it is stopped.
    mutating func run(while goesOn: @Sendable () -> Bool) async {
        while goesOn(), !Task.isCancelled {
            let replica = suite.replicas[Int.random(in: 0..<suite.replicas.count, using: &random)]
            let port = Bool.random(using: &random) ? replica.apnsPort ?? replica.port : replica.port
            let bytes = next()
            if let answer = try? await exchange(bytes, port) {
                book.add(status: "raw, \(answer.isEmpty ? "closed or nothing" : answer)")
                // 501 and 505 are HTTP's answers to an unsupported method or version.
                if answer.hasPrefix("5"), !["501", "503", "505"].contains(answer) {
                    let text = String(decoding: bytes.prefix(300), as: UTF8.self)
                    book.add(fault: "\(replica.service) answers \(answer) to bytes", example: text)
                }
            } else {
                book.add(status: "raw, no connection")
            }
            try? await Task.sleep(for: pause * Double.random(in: 0.5..<1.5, using: &random))
        }
    }

    private mutating func next() -> [UInt8] {
        let end = "\r\n\r\n"
        let texts = [
            "GET /healthz HTTP/1.1" + end, "GET /healthz HTTP/1.0" + end, "GET /healthz HTTP/1.1\r\nHost: a\r\n",
            "GET /healthz HTTP/9.9\r\nHost: a" + end, "\0\0\0\0", "GET /\0 HTTP/1.1\r\nHost: a" + end,
            "GET /healthz HTTP/1.1\r\nHost: a\r\nX: " + String(repeating: "a", count: 70_000) + end,
            "GET /healthz HTTP/1.1\r\nHost: a\r\n" + String(repeating: "X: a\r\n", count: 500) + "\r\n",
            "GET /" + String(repeating: "a", count: 70_000) + " HTTP/1.1\r\nHost: a" + end,
            "POST /v1/provider-keys HTTP/1.1\r\nHost: a\r\nContent-Length: -1" + end,
            "POST /files HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999999999999999" + end,
            "POST /files HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2" + end + "ab",
            "POST /files HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked" + end + "ffffffffffffffff\r\na",
            "POST /files HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked" + end + "-1\r\n",
            "POST /files HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nContent-Length: 3" + end + "0\r\n\r\n",
            "PUT /content/a HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 5" + end,
            "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "CONNECT a:1 HTTP/1.1\r\nHost: a" + end,
            "GET /healthz HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: upgrade" + end,
            "GET /healthz HTTP/1.1\r\nHost: a\r\nConnection: upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AA"
                + end,
            String(repeating: "GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n", count: 200), "\u{16}\u{3}\u{1}\u{2}\0\u{1}",
            "OPTIONS * HTTP/1.1\r\nHost: a" + end, "GET http://[::1 HTTP/1.1\r\nHost: [" + end,
        ]
        let bytes = Array((texts.randomElement(using: &random) ?? "").utf8)
        switch Int.random(in: 0..<4, using: &random) {
        case 0: return bytes + documents.next()
        case 1: return bytes + (0..<200).map { _ in UInt8.random(in: 0...255, using: &random) }
        default: return bytes
        }
    }

    /// - Returns: the status of the first answer; empty if none arrived within a second, or if the server closed.
    private func exchange(_ bytes: [UInt8], _ port: Int) async throws -> String {
        let reply = Reply()
        let channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .connectTimeout(.seconds(2))
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(ReplyHandler(reply))
                }
            }
            .connect(host: "127.0.0.1", port: port).get()
        channel.eventLoop.scheduleTask(in: .seconds(1)) { channel.close(promise: nil) }
        try? await channel.writeAndFlush(ByteBuffer(bytes: bytes)).get()
        try? await channel.closeFuture.get()
        return reply.status
    }
}

/// The beginning of a server's answer.
private final class Reply: Sendable {
    let bytes = Mutex<[UInt8]>([])

    /// The status of an answer in HTTP/1.1.
    var status: String {
        let words = String(decoding: bytes.withLock { $0 }, as: UTF8.self).split(separator: " ", maxSplits: 2)
        guard words.first?.hasPrefix("HTTP/1") ?? false, words.count > 1 else { return "" }
        return String(words[1].prefix(3))
    }
}

private final class ReplyHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let reply: Reply

    init(_ reply: Reply) { self.reply = reply }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let part = unwrapInboundIn(data)
        reply.bytes.withLock { $0 += part.readableBytesView.prefix(max(0, 64 - $0.count)) }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
}
