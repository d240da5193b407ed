import Foundation
import NIOCore
import NIOHTTP1
import TestSupport
import Testing

/// Files that killed processes left, and files that a restored database does not name.
@Suite(.tags(.database, .processes), .serialized) struct Leftovers {
    @Test func `a starting service moves leftover files to the trash`() async throws {
        let (suite, first) = try await UploadsSuite.start()
        let upload = try await first.begin(["Upload-Length": "6"], "abc")
        let put = try await first.send(.PUT, "/content/film", [:], ByteBuffer(string: "film"))
        #expect(put.status == 201)
        first.process.signal(SIGTERM)
        _ = try await first.process.exit()
        let (uploads, contents) = (
            suite.directory.appendingPathComponent("uploads"), suite.directory.appendingPathComponent("contents")
        )
        let (file, content) = (try #require(names(uploads).first), try #require(names(contents).first))
        // Referenced files that are older than all others.
        for url in [uploads.appendingPathComponent(file), contents.appendingPathComponent(content)] {
            try age(url, 9000)
        }
        let id = UUID().uuidString.lowercased()
        for url in [uploads.appendingPathComponent("\(id).1"), contents.appendingPathComponent(id)] {
            try make(url, 7200)
            try make(url.appendingPathExtension("young"), 600)
        }
        // A file of a late writer: its upload exists, but no row names the file.
        let late = String(file.split(separator: ".")[0]) + ".9"
        try make(uploads.appendingPathComponent(late), 7200)
        let second = try await suite.replica()
        defer { suite.stop(second) }
        try await eventually(describe: "unreferenced files are in the trash") {
            names(uploads) == [file, "\(id).1.young"].sorted() && names(contents) == [content, "\(id).young"].sorted()
        }
        #expect(names(suite.directory.appendingPathComponent("trash/uploads")) == ["\(id).1", late].sorted())
        #expect(names(suite.directory.appendingPathComponent("trash/contents")) == [id])
        #expect(try await second.offset(upload) == 3)
        #expect(try await second.tus(.PATCH, upload, ["Upload-Offset": "3"], "def").status == 204)
        #expect(String(buffer: try await second.send(.GET, upload).body) == "abcdef")
        #expect(String(buffer: try await second.send(.GET, "/content/film").body) == "film")
    }

    @Test func `a file outlives a restore of the database to before it was put, and the roll forward`() async throws {
        let (suite, first) = try await UploadsSuite.start()
        #expect(try await first.send(.PUT, "/content/film", [:], ByteBuffer(string: "film")).status == 201)
        first.process.signal(SIGTERM)
        _ = try await first.process.exit()
        let contents = suite.directory.appendingPathComponent("contents")
        let file = try #require(names(contents).first)
        try age(contents.appendingPathComponent(file), 7200)
        _ = try await suite.sql("CREATE TABLE rolled AS TABLE transfer.contents; DELETE FROM transfer.contents")
        let second = try await suite.replica()
        try await eventually(describe: "the file is in the trash") {
            names(suite.directory.appendingPathComponent("trash/contents")) == [file]
        }
        #expect(try await second.send(.GET, "/content/film").status == 404)
        second.process.signal(SIGTERM)
        _ = try await second.process.exit()
        _ = try await suite.sql("INSERT INTO transfer.contents SELECT * FROM rolled")
        let third = try await suite.replica()
        defer { suite.stop(third) }
        try await eventually(describe: "the file is restored") { names(contents) == [file] }
        #expect(String(buffer: try await third.send(.GET, "/content/film").body) == "film")
    }

    private func make(_ url: URL, _ seconds: TimeInterval) throws {
        try Data("x".utf8).write(to: url)
        try age(url, seconds)
    }

    private func age(_ url: URL, _ seconds: TimeInterval) throws {
        try FileManager.default.setAttributes([.modificationDate: Date() - seconds], ofItemAtPath: url.path)
    }

    private func names(_ folder: URL) -> [String] {
        ((try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []).sorted()
    }
}
