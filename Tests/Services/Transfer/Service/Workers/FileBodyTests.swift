import Contracts
import Crypto
import Foundation
import NIOCore
import NIOHTTP1
import Synchronization
import TestSupport
import Testing

@testable import TransferService

/// A file in memory.
private struct MemoryFile: StoredFile {
    let bytes: ByteBuffer

    func write(_ buffer: ByteBuffer, at offset: Int) { Issue.record("written to") }
    func sync() { Issue.record("synced") }

    func read(at offset: Int, count: Int) -> ByteBuffer {
        bytes.getSlice(at: offset, length: min(count, bytes.readableBytes - offset)) ?? ByteBuffer()
    }
}

extension FilePiece {
    /// Creates a piece that covers a file in memory.
    init(holding buffer: ByteBuffer) {
        self.init(file: MemoryFile(bytes: buffer.slice()), range: 0..<buffer.readableBytes)
    }
}

extension ByteBuffer {
    /// Creates pseudo-random bytes. The same count gives the same bytes.
    init(randomBytes count: Int) {
        self = noise(count, seed: UInt64(count))
    }
}

/// Bodies of uploads.
@Suite struct FileBodies {
    private static func sha256(_ buffer: ByteBuffer) -> String {
        SHA256.hash(data: Data(buffer.readableBytesView)).hexadecimal
    }

    @Test(arguments: [[0], [1], [256 << 10], [(256 << 10) + 1, 0, 5], [3 << 20, 1 << 20]])
    func `a body of several files arrives complete with its length`(sizes: [Int]) async throws {
        let server = try await CannedServer.start { request in
            ok("\(request.headers.first(name: "Content-Length") ?? "-") \(Self.sha256(request.body))")
        }
        let parts = sizes.map { ByteBuffer(randomBytes: $0) }
        let body = FileBody(parts.map { FilePiece(holding: $0) })
        var fetching = try Fetching(server.url(), by: .PUT, from: server)
        fetching.request.body = body
        let whole = parts.reduce(into: ByteBuffer()) { $0.writeImmutableBuffer($1) }
        #expect(try await fetching.run().body == "\(whole.readableBytes) \(Self.sha256(whole))")
        #expect(body.meter.sent == whole.readableBytes)
    }

    @Test func `a body is sent from its start after a redirect and a challenge`() async throws {
        let server = try await CannedServer.start { request in
            switch request.path {
            case "/": status(307, "Location: /next")
            case "/next" where !request.headers.contains(name: "Authorization"):
                status(401, "WWW-Authenticate: Basic realm=\"r\"")
            default: ok(Self.sha256(request.body))
            }
        }
        let bytes = ByteBuffer(randomBytes: 1 << 20)
        var fetching = try Fetching(server.url(), by: .POST, from: server)
        let body = FileBody([FilePiece(holding: bytes)])
        fetching.request.body = body
        fetching.decide = { _ in .use(.password(user: "u", password: "p")) }
        #expect(try await fetching.run().body == Self.sha256(bytes))
        #expect(body.meter.sent == bytes.readableBytes, "only the last try counts")
        #expect(server.requests == 3)
    }

    /// The server answers before the end of the body. Its answer is the response of the attempt.
    @Test func `an early response ends the sending of a body`() async throws {
        let server = try await CannedServer.start(isEarly: true) { _ in
            "HTTP/1.1 413 Content Too Large\r\nContent-Length: 3\r\n\r\nbig"
        }
        let body = FileBody([FilePiece(holding: ByteBuffer(repeating: 0, count: 64 << 20))])
        var fetching = try Fetching(server.url(), by: .PUT, from: server)
        fetching.request.body = body
        let outcome = try await fetching.run()
        #expect(outcome.status == 413 && outcome.body == "big")
        #expect(body.meter.sent < body.length)
    }

    @Test func `a body shorter than its length fails with fileMissing`() async throws {
        let server = try await CannedServer.start { _ in ok("") }
        var piece = FilePiece(holding: ByteBuffer(randomBytes: 1000))
        piece = FilePiece(file: piece.file, range: 0..<1001)
        var fetching = try Fetching(server.url(), by: .PUT, from: server)
        fetching.request.body = FileBody([piece])
        #expect(try await fetching.failure() == FetchFailure(.fileMissing))
    }

    @Test func `the end of a body is always reported`() async throws {
        let server = try await CannedServer.start { _ in ok("") }
        let reports = Reports()
        let body = FileBody([FilePiece(holding: ByteBuffer(randomBytes: 300_000))]) { sent in
            reports.all.withLock { $0.append(sent) }
        }
        var fetching = try Fetching(server.url(), by: .PUT, from: server)
        fetching.request.body = body
        _ = try await fetching.run()
        #expect(reports.all.withLock(\.self) == [300_000])
    }

    private final class Reports: Sendable { let all = Mutex<[Int]>([]) }

    @Test func `progress is due by bytes and by time`() {
        let start = ContinuousClock.now
        var pace = Pace(since: start)
        func isDue(_ bytes: Int, after milliseconds: Int) -> Bool {
            pace.isDue(bytes, now: start + .milliseconds(milliseconds))
        }
        #expect(!isDue(Pace.bytes, after: 100), "too soon")
        #expect(isDue(1, after: 300), "enough bytes and enough time")
        #expect(!isDue(Pace.bytes - 1, after: 2000), "too little")
        #expect(isDue(0, after: 6000), "after the longest silence any byte is enough")
        #expect(!isDue(0, after: 60_000), "without bytes nothing is due")
    }
}
