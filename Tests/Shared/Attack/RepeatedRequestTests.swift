import NIOCore
import NIOEmbedded
import TestSupport
import Testing

@testable import Attack

/// The requests of a hostile connection.
@Suite("Repeated requests") struct RepeatedRequestTests {
    @Test func `a request follows two seconds after the answer to the one before`() throws {
        let connection = try Connection(drips: "")
        #expect(try connection.sent() == "HEAD")
        connection.wait(seconds: 10)
        #expect(try connection.sent() == nil, "there is no answer yet")
        try connection.answer("HTTP/1.1 429 Too Many Requests")
        connection.wait(seconds: 1)
        #expect(try connection.sent() == nil)
        connection.wait(seconds: 1)
        #expect(try connection.sent() == "HEAD")
        #expect(connection.heard.count == 1)
    }

    @Test func `a body goes on after an early answer, and the next request follows its end`() throws {
        let connection = try Connection(drips: "   ")
        #expect(try connection.sent() == "HEAD")
        connection.wait(seconds: 1)
        #expect(try connection.sent() == " ")
        try connection.answer("HTTP/1.1 429 Too Many Requests")
        for _ in 0..<2 {
            connection.wait(seconds: 1)
            #expect(try connection.sent() == " ")
        }
        connection.wait(seconds: 1)
        #expect(try connection.sent() == nil)
        connection.wait(seconds: 1)
        #expect(try connection.sent() == "HEAD")
        #expect(connection.heard.count == 1)
    }

    @Test func `a request follows two seconds after the answer to a complete body`() throws {
        let connection = try Connection(drips: " ")
        #expect(try connection.sent() == "HEAD")
        connection.wait(seconds: 1)
        #expect(try connection.sent() == " ")
        connection.wait(seconds: 10)
        #expect(try connection.sent() == nil, "the body is complete, and there is no answer yet")
        try connection.answer("HTTP/1.1 400 Bad Request")
        connection.wait(seconds: 2)
        #expect(try connection.sent() == "HEAD")
    }
}

/// A connection on which a handler sends its requests, with a clock of its own.
private struct Connection {
    let heard = Tally()
    private let channel = EmbeddedChannel()

    init(drips: String) throws {
        let handler = RepeatedRequest(drips: drips, { [heard] _ in heard.add() }, request: { "HEAD" })
        try channel.pipeline.syncOperations.addHandler(handler)
        try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
    }

    /// Returns the next bytes that were sent; nil if there are none.
    func sent() throws -> String? { try channel.readOutbound(as: ByteBuffer.self).map { String(buffer: $0) } }

    func answer(_ line: String) throws { try channel.writeInbound(ByteBuffer(string: line + "\r\n\r\n")) }

    func wait(seconds: Int64) { channel.embeddedEventLoop.advanceTime(by: .seconds(seconds)) }
}
