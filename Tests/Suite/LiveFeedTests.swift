import AsyncHTTPClient
import Foundation
import NIOCore
import NIOPosix
import Records
import TestSupport
import Testing

/// The live stream of the whole log when its reader or `ops` stops for a while.
@Suite("The live feed of the suite", .tags(.database, .processes), .timeLimit(.minutes(5))) struct LiveFeedTests {
    /// A client that opens the stream and reads nothing is cut, and another reader gets all events.
    @Test func `a reader that reads nothing uses no memory and slows no other reader`() async throws {
        let suite = try await RunningSuite.start([.ops])
        let asleep = try await Asleep(suite)
        let reader = try await suite.stream(.ops, "/v1/events/stream")
        let count = 12_000
        var highest = 0
        let before = try suite.residentBytes(of: .ops)
        // 96 MB are far more than the buffers of a connection.
        for first in stride(from: 0, to: count, by: 500) {
            try await suite.append(first..<first + 500, bytes: 8000)
            try await reader.waitFor(first + 500, "the reader has the first \(first + 500)")
            highest = max(highest, try suite.residentBytes(of: .ops))
        }
        #expect(reader.items.compactMap { $0["data"]?["n"]?.int } == Array(0..<count))
        #expect(highest - before < 48 << 20, "\((highest - before) >> 20) MiB more")
        // The client gets `cut`, or has lost its connection by then.
        let words = try await asleep.wake()
        #expect(words.contains("event: cut") || !words.contains("\"n\":\(count - 1)"))
        _ = try await suite.stop()
        try await suite.cluster.destroy()
    }

    /// After a kill and restart of `ops`, a reader that resumes with `Last-Event-ID` gets every event once.
    @Test func `a stream resumes after a restart of ops`() async throws {
        let suite = try await RunningSuite.start([.ops])
        let first = try await suite.stream(.ops, "/v1/events/stream")
        try await suite.append(0..<300, bytes: 10)
        try await first.waitFor(300, "the first reader has what came before")
        let place = try #require(first.lastID)
        try await suite.kill(.ops)
        try await first.waitForEnd("the stream has ended")
        try await suite.append(300..<700, bytes: 10)
        try await suite.launch(.ops)
        let second = try await suite.stream(.ops, "/v1/events/stream", headers: ["Last-Event-ID": place])
        try await suite.append(700..<1000, bytes: 10)
        try await second.waitFor(700, "the second reader has the rest")
        #expect((first.items + second.items).compactMap { $0["data"]?["n"]?.int } == Array(0..<1000))
        _ = try await suite.stop()
        try await suite.cluster.destroy()
    }
}

/// A client that opens the stream and reads nothing until `wake`.
private struct Asleep {
    private let inbox: NIOAsyncChannel<ByteBuffer, ByteBuffer>

    init(_ suite: RunningSuite) async throws {
        let url = try #require(URL(string: suite.address(.ops)))
        inbox = try await ClientBootstrap(group: .singletonMultiThreadedEventLoopGroup)
            .channelOption(.autoRead, value: false)
            .connect(host: "127.0.0.1", port: url.port ?? 0) { channel in
                channel.eventLoop.makeCompletedFuture { try NIOAsyncChannel(wrappingChannelSynchronously: channel) }
            }
        let request =
            "GET /v1/events/stream HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer \(RunningSuite.operatorKey)\r\n\r\n"
        try await inbox.channel.writeAndFlush(ByteBuffer(string: request))
    }

    /// Reads to the end.
    func wake() async throws -> String {
        try await withTimeout(seconds: 90, "the unread stream has ended") {
            try await inbox.executeThenClose { parts, _ in
                try await inbox.channel.setOption(.autoRead, value: true).get()
                var words = ""
                // The connection may be reset; the bytes before count.
                do { for try await part in parts { words += String(buffer: part) } } catch {}
                return words
            }
        }
    }
}

extension RunningSuite {
    /// Appends numbered events of one device, and sends the wake-up.
    fileprivate func append(_ numbers: Range<Int>, bytes: Int) async throws {
        _ = try await cluster.sql(
            """
            WITH moved AS (
                UPDATE bus.partitions SET head = head + \(numbers.count) WHERE partition = 3 RETURNING head)
            INSERT INTO bus.events (partition, log_offset, day, id, source, type, version, key, time, correlationid, data)
            SELECT 3, head - \(numbers.count) + 1 + n, current_date, gen_random_uuid(), 'other', 'other.thing.pinged', 1,
                'device:d', 0, gen_random_uuid(),
                json_build_object('n', \(numbers.lowerBound) + n, 'text', repeat('x', \(bytes)))
            FROM moved, generate_series(0, \(numbers.count - 1)) AS n;
            SELECT pg_notify('dormouse', 'other:3')
            """, database: database)
    }
}
