import NIOCore
import TestSupport
import Testing
import Timeline

@testable import TransferService

/// Digests of long bodies, which take turns.
@Suite("Turns of digests") struct DigestTurnsTests {
    /// A file whose first read waits for a signal.
    private struct SlowFile: StoredFile {
        let length: Int
        let begun = Signal<Void>()
        let goesOn = Signal<Void>()
        let reads = Tally()

        func write(_ buffer: ByteBuffer, at offset: Int) async throws {}
        func sync() async throws {}
        func read(at offset: Int, count: Int) async throws -> ByteBuffer {
            begun.fire(())
            reads.add()
            try await goesOn.value()
            return ByteBuffer(repeating: 7, count: max(0, min(count, length - offset)))
        }
    }

    private func pieces(_ file: SlowFile) -> [BodyPiece] { [.file(FilePiece(file: file, range: 0..<file.length))] }

    @Test func `a long digest is not read while another is, and a short one is`() async throws {
        let turns = DigestTurns(1)
        let long = SlowFile(length: DigestAlgorithm.shortPart + 1)
        async let first = DigestAlgorithm.sha512.field(of: pieces(long), turns: turns)
        try await long.begun.value()
        #expect(try await DigestAlgorithm.sha512.field(of: pieces(long), turns: turns) == nil)
        let short = SlowFile(length: DigestAlgorithm.shortPart)
        short.goesOn.fire(())
        #expect(try await DigestAlgorithm.sha512.field(of: pieces(short), turns: turns) != nil)
        long.goesOn.fire(())
        let digest = try await first
        #expect(digest?.hasPrefix("sha-512=:") == true)
        #expect(try await DigestAlgorithm.sha512.field(of: pieces(long), turns: turns) == digest)
    }

    @Test func `the digest of a file is read once, also for another file with the same bytes`() async throws {
        let known = KnownDigests(limit: 2)
        let file = SlowFile(length: 10)
        file.goesOn.fire(())
        func read(_ path: String, sha256: String) async throws -> String {
            let content = StoredContent(
                path: path, file: path, size: 10, sha256: sha256, contentType: "text/plain", modifiedAt: .epoch)
            return try await DigestAlgorithm.sha512.field(
                of: content, FilePiece(file: file, range: 0..<10), known: known)
        }
        let first = try await read("a", sha256: "01")
        #expect(try await read("b", sha256: "01") == first)
        #expect(file.reads.count == 1)
        // Other bytes, and a full memory, need a read.
        for sha256 in ["02", "03", "01"] { _ = try await read("a", sha256: sha256) }
        #expect(file.reads.count == 4)
    }
}
