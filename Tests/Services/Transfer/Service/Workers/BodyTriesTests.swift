import NIOCore
import Synchronization
import Testing

@testable import TransferService

/// A body that is sent again while the previous try still reads it.
@Suite struct BodyTries {
    private final class Reports: Sendable { let all = Mutex<[Int]>([]) }

    @Test func `only the newest try of a body reports progress`() async throws {
        let reports = Reports()
        let body = FileBody([FilePiece(holding: ByteBuffer(randomBytes: 600_000))]) { sent in
            reports.all.withLock { $0.append(sent) }
        }
        var former = body.chunks(shaped: nil).makeAsyncIterator()
        let first = try await former.next()?.readableBytes
        _ = try await former.next()
        #expect(body.meter.sent == first, "a chunk counts when the next one is requested")

        var newest = body.chunks(shaped: nil).makeAsyncIterator()
        while try await former.next() != nil {}
        #expect(body.meter.sent == 0 && reports.all.withLock(\.self) == [])
        while try await newest.next() != nil {}
        #expect(body.meter.sent == 600_000 && reports.all.withLock(\.self) == [600_000])
    }
}
