import EventLog
import Foundation
import Logging
import NIOCore
import Synchronization
import Telemetry
import TestSupport
import Testing

@testable import TransferService

/// A storage names the log of its files, and no sweep moves the files of another log.
@Suite(.tags(.processes)) struct StorageClaimTests {
    private final class Lines: Sendable {
        let all = Mutex<[String]>([])
    }

    private let folder: Folder
    private let storage: DirectoryStorage
    private let lines = Lines()
    private let first = LogIncarnation(id: "0123456789ab", isFirst: true)
    private let restored = LogIncarnation(id: "ba9876543210", isFirst: false)

    init() throws {
        folder = try Folder()
        storage = try DirectoryStorage(folder.url.path)
    }

    @Test func `a new directory belongs to the log that uses it first`() async throws {
        #expect(try await claim(restored, events: 7).check())
        #expect(try await storage.mark() == "ba9876543210 7\n")
    }

    @Test func `a directory without a mark belongs to a log that was never restored`() async throws {
        _ = try await storage.create("a", in: .contents)
        #expect(try await !claim(restored, events: 7).check())
        #expect(try await claim(first, events: 7).check())
    }

    @Test func `files of another incarnation are not swept until the directory is accepted`() async throws {
        #expect(try await claim(first, events: 7).check())
        try makeOld("contents/a")
        let foreign = claim(restored, events: 7)
        let sweep = sweep(foreign)
        for _ in 0..<2 { try await sweep.sweep() }
        #expect(names("contents") == ["a"])
        #expect(await foreign.fault == "the directory belongs to another incarnation of the log")
        let refused = lines.all.withLock { $0 }.count { $0.contains("refused to sweep DATA_DIRECTORY") }
        #expect(refused == 1, "one line for each refusal")

        try await storage.write(StorageMark(incarnation: restored.id, events: 7))
        try await sweep.sweep()
        #expect(await foreign.fault == nil)
        #expect(names("contents") == [] && names("trash/contents") == ["a"])
    }

    /// A database that was restored without a new incarnation has fewer events. Later it has more, but others.
    @Test func `files of later events are not swept until the directory is accepted`() async throws {
        #expect(try await claim(first, events: 7).check())
        for events in [6, 8] { #expect(try await !claim(first, events: events).check()) }
        #expect(try await storage.mark() == "0123456789ab 7 refused\n")

        try await storage.write(StorageMark(incarnation: first.id, events: 8))
        #expect(try await claim(first, events: 8).check())
    }

    /// Replicas share the storage, and several sweeps of a process start together.
    @Test func `a check that another one overtakes finds no later events`() async throws {
        #expect(try await claim(first, events: 7).check())
        let other = claim(first, events: 9)
        let overtaken = StorageClaim(storage: storage, incarnation: first, logger: Logger(label: "quiet")) {
            // The log gets a ninth event after this count, and the other check notes it.
            _ = try await other.check()
            return 8
        }
        #expect(try await overtaken.check())
    }

    @Test(arguments: ["", "0123456789ab", "0123456789ab x", "0123456789ab 1 2"])
    func `a mark that can't be read forbids sweeps`(text: String) async throws {
        try text.write(to: folder.url.appendingPathComponent("incarnation"), atomically: true, encoding: .utf8)
        #expect(try await !claim(first, events: 7).check())
    }

    @Test func `the oldest files of the trash make room first`() throws {
        for (name, age) in [("contents/young", 10.0), ("uploads/old", 300), ("contents/older", 3000)] {
            try make("trash/\(name)", age: age)
        }
        try make("trash/uploads/\(StorageSweep.note)", age: 9000)
        // Each removal frees one byte more.
        func require(_ bytes: Int) throws(StorageError) {
            try storage.trash.require(bytes) { () throws(StorageError) in
                4 - names("trash/contents").count - names("trash/uploads").count
            }
        }
        #expect(throws: StorageError.full) { try require(1) }
        #expect(names("trash/contents") == ["older", "young"], "kept until the first check")
        storage.trash.keep(false)
        try require(0)
        #expect(names("trash/contents") == ["older", "young"])
        try require(1)
        #expect(names("trash/contents") == ["young"] && names("trash/uploads").contains("old"))
        try require(2)
        #expect(names("trash/contents") == ["young"] && names("trash/uploads") == [StorageSweep.note])
        storage.trash.keep(true)
        #expect(throws: StorageError.full) { try require(3) }
        #expect(names("trash/contents") == ["young"], "kept")
        storage.trash.keep(false)
        #expect(throws: StorageError.full) { try require(4) }
        #expect(names("trash/contents") == [] && names("trash/uploads") == [StorageSweep.note])
    }

    @Test func `a deleted file stays in the trash`() async throws {
        _ = try await storage.create("a", in: .contents)
        try await storage.discard("a", from: .contents)
        try await storage.discard("a", from: .contents)
        #expect(names("contents") == [] && names("trash/contents") == ["a"])
    }

    private func claim(_ incarnation: LogIncarnation, events: Int) -> StorageClaim {
        let lines = lines
        let logger = Logger(label: "test") { label in
            LogOutput(
                label: label, level: .info, format: .json, write: { line in lines.all.withLock { $0.append(line) } })
        }
        return StorageClaim(storage: storage, incarnation: incarnation, logger: logger) { events }
    }

    private func sweep(_ claim: StorageClaim) -> StorageSweep {
        var sweep = StorageSweep(storage: storage, folder: .contents, logger: Logger(label: "quiet")) { _ in [] }
        sweep.claim = claim
        return sweep
    }

    private func makeOld(_ path: String) throws { try make(path, age: 7200) }

    private func make(_ path: String, age: TimeInterval) throws {
        let url = folder.url.appendingPathComponent(path)
        try Data("x".utf8).write(to: url)
        try FileManager.default.setAttributes([.modificationDate: Date() - age], ofItemAtPath: url.path)
    }

    private func names(_ name: String) -> [String] {
        let url = folder.url.appendingPathComponent(name)
        return ((try? FileManager.default.contentsOfDirectory(atPath: url.path)) ?? []).sorted()
    }
}
