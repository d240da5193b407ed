import AsyncHTTPClient
import Contracts
import NIOCore
import NIOHTTP1
import NIOPosix
import Synchronization
import TestSupport
import Testing

@testable import TransferService

/// How servers misbehave, and what the daemon makes of it.
@Suite struct Fetching {
    private func fetch(
        _ url: String, from origins: [Int], headers: HTTPHeaders = [:], idle: TimeAmount = .seconds(20)
    ) async throws -> String {
        let allowed = try AllowedOrigins(origins.map { "http://127.0.0.1:\($0)" }.joined(separator: ","))
        let body = Mutex("")
        try await Fetch(origins: allowed, url: url, headers: headers, idleTimeout: idle).run { response in
            do {
                let text = String(buffer: try await response.body.collect(upTo: 1 << 20))
                body.withLock { $0 = text }
            } catch { throw FetchFailure(network: error) }
        }
        return body.withLock { $0 }
    }

    @Test func redirectsAreFollowedAndCredentialsStayAtHome() async throws {
        let second = try await CannedServer.start { _, headers in
            "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n" + (headers.contains("secret") ? "told" : "kept")
        }
        let first = try await CannedServer.start { path, headers in
            switch path {
            case "/away":
                "HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:\(second.port)/x\r\nContent-Length: 0\r\n\r\n"
            case "/near": "HTTP/1.1 307 Temporary Redirect\r\nLocation: here\r\nContent-Length: 0\r\n\r\n"
            default: "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n" + (headers.contains("secret") ? "told" : "kept")
            }
        }
        let base = "http://127.0.0.1:\(first.port)"
        let headers: HTTPHeaders = ["Authorization": "Bearer secret"]
        #expect(try await fetch(base + "/near", from: [first.port], headers: headers) == "told")
        #expect(try await fetch(base + "/away", from: [first.port, second.port], headers: headers) == "kept")
        await #expect(throws: FetchFailure(.originNotAllowed)) {
            try await fetch(base + "/away", from: [first.port], headers: headers)
        }
    }

    @Test func redirectsEndSomewhere() async throws {
        let server = try await CannedServer.start { _, _ in
            "HTTP/1.1 301 Moved Permanently\r\nLocation: /again\r\nContent-Length: 0\r\n\r\n"
        }
        await #expect(throws: FetchFailure(.tooManyRedirects)) {
            try await fetch("http://127.0.0.1:\(server.port)/", from: [server.port])
        }
        #expect(server.requests == Fetch.redirectLimit + 1)
    }

    @Test func silenceAndShortBodiesHaveTheirNames() async throws {
        let server = try await CannedServer.start { path, _ in
            "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc" + (path == "/short" ? CannedServer.close : "")
        }
        let base = "http://127.0.0.1:\(server.port)"
        await #expect(throws: FetchFailure(.connectionLost)) { try await fetch(base + "/short", from: [server.port]) }
        await #expect(throws: FetchFailure(.timedOut)) {
            try await fetch(base + "/silent", from: [server.port], idle: .milliseconds(200))
        }
    }

    @Test func nobodyListensAndNoSuchHost() async throws {
        let port = try freePort()
        await #expect(throws: FetchFailure(.cannotConnect)) {
            try await fetch("http://127.0.0.1:\(port)/", from: [port])
        }
        let allowed = try AllowedOrigins("http://nowhere.invalid")
        await #expect(throws: FetchFailure(.hostNotFound)) {
            try await Fetch(
                origins: allowed, url: "http://nowhere.invalid/", headers: [:], idleTimeout: .seconds(5)
            ).run { _ in }
        }
    }
}

/// Answers every request with a text that the test gives, byte for byte.
private final class CannedServer: Sendable {
    typealias Answer = @Sendable (_ path: String, _ head: String) -> String
    /// At the end of an answer: the connection is closed behind it.
    static let close = "\u{0}"

    private let channel: any Channel
    var port: Int { channel.localAddress?.port ?? 0 }
    var requests: Int { tally.count }
    private let tally: Tally

    static func start(_ answer: @escaping Answer) async throws -> CannedServer {
        let tally = Tally()
        let channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(Handler(answer, tally))
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        return CannedServer(channel, tally)
    }

    private init(_ channel: any Channel, _ tally: Tally) {
        self.channel = channel
        self.tally = tally
    }

    deinit { channel.close(promise: nil) }

    private final class Handler: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer
        typealias OutboundOut = ByteBuffer
        private let answer: Answer
        private let tally: Tally
        private var received = ""

        init(_ answer: @escaping Answer, _ tally: Tally) {
            self.answer = answer
            self.tally = tally
        }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            received += String(buffer: unwrapInboundIn(data))
            guard received.hasSuffix("\r\n\r\n") else { return }
            tally.add()
            let path = received.split(separator: " ").dropFirst().first.map(String.init) ?? ""
            let text = answer(path, received)
            received = ""
            let closes = text.hasSuffix(CannedServer.close)
            let buffer = ByteBuffer(string: closes ? String(text.dropLast()) : text)
            context.writeAndFlush(wrapOutboundOut(buffer), promise: nil)
            if closes { context.close(promise: nil) }
        }
    }
}
