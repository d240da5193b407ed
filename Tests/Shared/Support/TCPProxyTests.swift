import Foundation
import Glibc
import NIOCore
import NIOPosix
import TestSupport
import Testing

@Suite("The proxy", .timeLimit(.minutes(5)))
struct TCPProxyTests {
    private let server: ShoutingServer
    private let proxy: TCPProxy

    init() async throws {
        server = try await ShoutingServer.start()
        proxy = try await TCPProxy.start(port: server.port)
    }

    @Test func `bytes pass in both directions`() async throws {
        let client = try await Wire.connect(proxy.port)
        try await client.send("to the server")
        try await server.received.first { $0 == "to the server" }
        try await client.heard.first { $0 == "TO THE SERVER" }
        #expect(proxy.connections == 1)
        try await client.channel.close().get()
        try await server.ended.reaches()
    }

    @Test func `a large text passes unchanged`() async throws {
        let client = try await Wire.connect(proxy.port)
        let text = (0..<200_000).map { "\($0) " }.joined()
        try await client.send(text)
        try await client.heard.first { $0.utf8.count == text.utf8.count }
        #expect(client.heard.text == text.uppercased())
    }

    @Test(arguments: [1, 2, 5])
    func `a cut after forwarding lets the matched bytes reach the server`(pieces: Int) async throws {
        let client = try await Wire.connect(proxy.port)
        let cut = proxy.cut(whenClientSends: "COMMIT".utf8, after: .forwarding)
        try await client.send("begin ")
        try await client.heard.first { $0 == "BEGIN " }
        for piece in split("COMMIT", into: pieces) {
            try await client.send(piece)
            // The proxy must not see two pieces as one.
            let sent = client.sent.text
            try await server.received.first { $0 == sent }
        }
        try await cut.happened()
        try await cut.settled()
        try await client.ended.reaches()
        #expect(server.received.text == "begin COMMIT")
        #expect(!client.heard.text.hasSuffix("T"))

        let next = try await Wire.connect(proxy.port)
        try await next.send("COMMIT")
        try await next.heard.first { $0 == "COMMIT" }
        #expect(cut.count == 1)
    }

    @Test func `a cut before forwarding keeps the matched bytes from the server`() async throws {
        let client = try await Wire.connect(proxy.port)
        let cut = proxy.cut(whenClientSends: "COMMIT".utf8, after: .beforeForwarding)
        try await client.send("begin COM")
        try await server.received.first { $0 == "begin COM" }
        try await client.send("MIT")
        try await cut.happened()
        try await cut.settled()
        try await client.ended.reaches()
        try await server.ended.reaches()
        #expect(server.received.text == "begin COM")
    }

    @Test func `a cut with a count of two cuts two connections`() async throws {
        let first = try await Wire.connect(proxy.port)
        let cut = proxy.cut(whenClientSends: "x".utf8, after: .beforeForwarding, count: 2)
        try await first.send("x")
        try await cut.happened(1)
        let second = try await Wire.connect(proxy.port)
        try await second.send("x")
        try await cut.happened(2)
        let third = try await Wire.connect(proxy.port)
        try await third.send("x")
        try await third.heard.first { $0 == "X" }
        #expect(server.received.text == "x")
    }

    @Test func `cutAll cuts all connections and accepts new ones`() async throws {
        let client = try await Wire.connect(proxy.port)
        try await client.send("up")
        try await client.heard.first { $0 == "UP" }
        let other = try await Wire.connect(proxy.port)
        try await other.send("up")
        try await other.heard.first { $0 == "UP" }
        try await proxy.cutAll()
        try await client.ended.reaches()
        try await other.ended.reaches()
        #expect(proxy.connections == 0)
        let next = try await Wire.connect(proxy.port)
        try await next.send("again")
        try await next.heard.first { $0 == "AGAIN" }
    }

    @Test func `refuse resets new connections while open ones continue`() async throws {
        let client = try await Wire.connect(proxy.port)
        try await client.send("up")
        try await client.heard.first { $0 == "UP" }
        proxy.refuse(true)
        // The reset may arrive before the client sees that the connection is open.
        do { try await Wire.connect(proxy.port).ended.reaches() } catch let error as NIOConnectionError {
            let reasons = error.connectionErrors.map { ($0.error as? IOError)?.errnoCode }
            #expect(!reasons.isEmpty && reasons.allSatisfy { $0 == ECONNRESET }, "\(error)")
        }
        try await client.send("still")
        try await client.heard.first { $0 == "UPSTILL" }
        proxy.refuse(false)
        let taken = try await Wire.connect(proxy.port)
        try await taken.send("back")
        try await taken.heard.first { $0 == "BACK" }
    }

    @Test func `a pause holds back bytes and closes until it ends`() async throws {
        let client = try await Wire.connect(proxy.port)
        try await client.send("a")
        try await client.heard.first { $0 == "A" }
        try await proxy.pause()
        try await client.send("b")
        let late = try await Wire.connect(proxy.port)
        try await late.send("c")
        // A direct connection shows that the server has had time to receive.
        let direct = try await Wire.connect(server.port)
        try await direct.send("d")
        try await direct.heard.first { $0 == "D" }
        #expect(server.received.text == "ad")
        try await client.channel.close().get()
        #expect(server.ended.count == 0)
        proxy.resume()
        try await late.heard.first { $0 == "C" }
        try await server.ended.reaches()
        #expect(server.received.text.sorted() == ["a", "b", "c", "d"])
    }

    @Test func `a paused proxy passes no more bytes than allowed`() async throws {
        let client = try await Wire.connect(proxy.port)
        try await proxy.pause()
        let text = (0..<2000).map { "\($0) " }.joined()
        try await client.send(text)
        var allowed = 0
        while server.received.text.utf8.count < 1000 {
            try await proxy.letSomeThrough(bytes: 100)
            allowed += 100
            #expect(server.received.text.utf8.count <= allowed)
        }
        proxy.resume()
        try await client.heard.first { $0.utf8.count == text.utf8.count }
        #expect(server.received.text == text)
    }

    @Test func `a client is closed if the server is not reachable`() async throws {
        let proxy = try await TCPProxy.start(port: try freePort())
        let client = try await Wire.connect(proxy.port)
        try await client.ended.reaches()
    }

    @Test func `stop cuts all connections`() async throws {
        let client = try await Wire.connect(proxy.port)
        try await client.send("up")
        try await client.heard.first { $0 == "UP" }
        try await proxy.stop()
        try await client.ended.reaches()
        try await server.ended.reaches()
    }

    private func split(_ text: String, into pieces: Int) -> [String] {
        let characters = Array(text)
        return (0..<pieces).map { piece in
            let bounds = (characters.count * piece / pieces)..<(characters.count * (piece + 1) / pieces)
            return String(characters[bounds])
        }
    }
}
