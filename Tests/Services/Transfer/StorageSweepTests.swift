import Foundation
import Logging
import NIOCore
import NIOHTTP1
import Synchronization
import TestSupport
import Testing

@testable import TransferService

/// Files that nobody names go, all others stay.
@Suite(.serialized) struct Leftovers {
    @Test func onlyOldFilesOutOfUseAreRemoved() async throws {
        let folder = try Folder()
        let storage = try DirectoryStorage(folder.url.path)
        let place = folder.url.appendingPathComponent("uploads")
        for (name, age) in [("old", 7200.0), ("young", 0), ("used", 7200), ("also", 9000)] {
            try make(place.appendingPathComponent(name), age)
        }
        try FileManager.default.createDirectory(
            at: place.appendingPathComponent("lost+found"), withIntermediateDirectories: false)
        try make(folder.url.appendingPathComponent("segments/old"), 9000)
        let asked = Mutex<[String]>([])
        let sweep = StorageSweep(
            storage: storage, folder: .uploads, age: .seconds(3600), logger: Logger(label: "test")
        ) { names in
            asked.withLock { $0 += names }
            return ["used"]
        }
        try await sweep.sweep()
        #expect(asked.withLock { $0.sorted() } == ["also", "old", "used"], "of young ones nobody is asked")
        #expect(names(place) == ["lost+found", "used", "young"])
        #expect(names(folder.url.appendingPathComponent("segments")) == ["old"], "another folder")
    }

    @Test func nothingIsRemovedWhereNobodyCanTell() async throws {
        let folder = try Folder()
        let storage = try DirectoryStorage(folder.url.path)
        let place = folder.url.appendingPathComponent("contents")
        try make(place.appendingPathComponent("old"), 7200)
        let sweep = StorageSweep(
            storage: storage, folder: .contents, age: .seconds(3600), logger: Logger(label: "test")
        ) { _ in throw CancellationError() }
        await #expect(throws: CancellationError.self) { try await sweep.sweep() }
        #expect(names(place) == ["old"])
    }

    @Test func aServiceThatStartsRemovesWhatOthersLeft() async throws {
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
        // Named, but older than all.
        for url in [uploads.appendingPathComponent(file), contents.appendingPathComponent(content)] {
            try age(url, 9000)
        }
        let id = UUID().uuidString.lowercased()
        for url in [uploads.appendingPathComponent("\(id).1"), contents.appendingPathComponent(id)] {
            try make(url, 7200)
            try make(url.appendingPathExtension("young"), 600)
        }
        // Of an upload that there is, but in no row: a writer that was late.
        let late = String(file.split(separator: ".")[0]) + ".9"
        try make(uploads.appendingPathComponent(late), 7200)
        let second = try await suite.replica()
        defer { suite.stop(second) }
        try await eventually(describe: "what nobody names is gone") {
            names(uploads) == [file, "\(id).1.young"].sorted() && names(contents) == [content, "\(id).young"].sorted()
        }
        #expect(try await second.offset(upload) == 3)
        #expect(try await second.tus(.PATCH, upload, ["Upload-Offset": "3"], "def").status == 204)
        #expect(String(buffer: try await second.send(.GET, upload).body) == "abcdef")
        #expect(String(buffer: try await second.send(.GET, "/content/film").body) == "film")
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
