import Foundation
import Glibc
import NIOCore
import NIOHTTP1
import TestSupport
import Testing

/// Requests without bytes do not change an upload.
@Suite(.tags(.database, .processes), .serialized) struct UploadsThatAreLeftAlone {
    private static let patch = ["Tus-Resumable: 1.0.0", "Content-Type: application/offset+octet-stream"]

    @Test func `a late request without bytes leaves a complete upload complete`() async throws {
        let (suite, replica) = try await UploadsSuite.start()
        defer { suite.stop(replica) }
        let path = try await replica.begin(["Upload-Length": "3"], "abc")
        let late = try await replica.half(
            "PATCH", path, Self.patch + ["Upload-Offset: 3", "Transfer-Encoding: chunked"], ByteBuffer())
        try await eventually(describe: "the late request has taken over the upload") {
            try await suite.sql("SELECT epoch > 1 FROM transfer.uploads") == "t"
        }
        #expect(try await replica.offset(path) == 3)
        _ = try await late.heard()
        #expect(try await suite.sql("SELECT is_complete, expires_at IS NULL FROM transfer.uploads") == "t|t")
        #expect(String(buffer: try await replica.send(.GET, path).body) == "abc")
    }

    /// A stopped writer may continue its write at any time, so no other writer may use its file.
    @Test func `a new writer does not reuse the file of a stopped writer`() async throws {
        let (suite, sleeper) = try await UploadsSuite.start()
        let rival = try await suite.replica()
        defer { suite.stop(sleeper, rival) }
        let path = try await sleeper.begin(["Upload-Length": "2000000"])
        let older = try await sleeper.half(
            "PATCH", path, Self.patch + ["Upload-Offset: 0", "Content-Length: 2000000"], noise(700_000, seed: 1))
        try await eventually(describe: "the first writer has begun to write") { !suite.files.isEmpty }
        sleeper.process.signal(SIGSTOP)
        defer { sleeper.process.signal(SIGCONT) }
        let offset = try #require(try await rival.offset(path))
        let wire = try await rival.half(
            "PATCH", path, Self.patch + ["Upload-Offset: \(offset)", "Content-Length: 5"], ByteBuffer())
        try await wire.close()
        #expect(try await rival.offset(path) == offset)
        let checked = try await rival.tus(
            .PATCH, path, ["Upload-Offset": "\(offset)", "Upload-Checksum": "sha1 AAAAAAAAAAAAAAAAAAAAAAAAAAA="], "abc")
        #expect(checked.status == 460)
        #expect(try await suite.sql("SELECT is_held FROM transfer.uploads") == "t")
        #expect(try await rival.tus(.PATCH, path, ["Upload-Offset": "\(offset)"], "abc").status == 204)
        #expect(suite.files.count == 2, "the new writer has its own file")
        try await older.close()
    }
}
