import Foundation
import Logging
import Synchronization
import Telemetry
import TestSupport
import Testing

@testable import TransferService

/// A sweep moves unreferenced files to the trash and keeps all others.
@Suite(.tags(.processes)) struct StorageTrash {
    /// A folder of a storage, and its sweep.
    private final class Scene: Sendable {
        let folder: Folder
        let taskKey: URL
        let trash: URL
        let metrics = Metrics()
        let log = Mutex<[String]>([])

        init(_ name: String = "uploads") throws {
            folder = try Folder()
            taskKey = folder.url.appendingPathComponent(name)
            trash = folder.url.appendingPathComponent("trash/" + name)
        }
    }

    @Test func `old files that nothing names are moved to the trash`() async throws {
        let scene = try Scene()
        let asked = Mutex<[String]>([])
        let sweep = try sweep(scene) { names in
            asked.withLock { $0 += names }
            return ["used"]
        }
        for (name, age) in [("old", 7200.0), ("young", 0), ("used", 7200), ("also", 9000)] {
            try make(scene.taskKey.appendingPathComponent(name), age)
        }
        try FileManager.default.createDirectory(
            at: scene.taskKey.appendingPathComponent("lost+found"), withIntermediateDirectories: false)
        try make(scene.folder.url.appendingPathComponent("segments/old"), 9000)
        try await sweep.sweep()
        #expect(asked.withLock { $0.sorted() } == ["also", "old", "used"], "young files are not queried")
        #expect(names(scene.taskKey) == ["lost+found", "used", "young"])
        #expect(names(scene.trash) == ["also", "old"])
        #expect(names(scene.folder.url.appendingPathComponent("segments")) == ["old"], "another folder")
        #expect(scene.metrics.text.contains(#"dormouse_transfer_files_trashed_total{folder="uploads"} 2"#))
        #expect(scene.log.withLock { $0 }.contains { $0.contains("moved unreferenced files to the trash") })
    }

    @Test func `files leave the trash after its days`() async throws {
        let scene = try Scene()
        let sweep = try sweep(scene) { _ in [] }
        try make(scene.trash.appendingPathComponent("week"), 7 * 86_400 + 60)
        try make(scene.trash.appendingPathComponent("day"), 86_400)
        // The file's own age does not count: its days begin when it is moved.
        try make(scene.taskKey.appendingPathComponent("year"), 365 * 86_400)
        try await sweep.sweep()
        #expect(names(scene.trash) == ["day", "year"])
    }

    /// After a restore, rows may be older than the files. They return when the database is rolled forward.
    @Test func `a file in the trash that something names again is put back`() async throws {
        let scene = try Scene()
        let sweep = try sweep(scene) { Set($0).intersection(["back"]) }
        try make(scene.trash.appendingPathComponent("back"), 8 * 86_400)
        try make(scene.trash.appendingPathComponent("gone"), 60)
        try await sweep.sweep()
        #expect(names(scene.taskKey) == ["back"] && names(scene.trash) == ["gone"])
    }

    @Test func `nothing is moved if the query for names fails`() async throws {
        let scene = try Scene("contents")
        let sweep = try sweep(scene, .contents) { _ in throw CancellationError() }
        try make(scene.taskKey.appendingPathComponent("old"), 7200)
        await #expect(throws: CancellationError.self) { try await sweep.sweep() }
        #expect(names(scene.taskKey) == ["old"] && names(scene.trash) == [])
    }

    /// An empty or wrong database names none of the files.
    @Test func `a sweep that would move more than half of the files is refused until an operator confirms it`()
        async throws
    {
        let scene = try Scene()
        var sweep = try sweep(scene) { names in Set(names.filter { $0.hasPrefix("used") }) }
        for number in 0..<30 { try make(scene.taskKey.appendingPathComponent("old\(number)"), 7200) }
        for number in 0..<10 { try make(scene.taskKey.appendingPathComponent("used\(number)"), 7200) }
        try make(scene.trash.appendingPathComponent("before"), 9 * 86_400)
        for _ in 0..<2 {
            try await sweep.sweep()
            #expect(names(scene.taskKey).count == 40)
            #expect(names(scene.trash).contains("before"), "nor is the trash emptied")
            #expect(scene.metrics.text.contains(#"dormouse_transfer_sweep_refused{folder="uploads"} 30"#))
        }
        #expect(
            scene.log.withLock { $0 }.count { $0.contains("refused to sweep") && $0.contains(#""level":"error""#) } == 2
        )
        sweep.rules.limit = 100
        try await sweep.sweep()
        #expect(names(scene.taskKey).count == 10)
        #expect(names(scene.trash).count { $0.hasPrefix("old") } == 30)
        #expect(scene.metrics.text.contains(#"dormouse_transfer_sweep_refused{folder="uploads"} 0"#))
    }

    @Test func `a refused sweep continues after the days of the trash`() async throws {
        let scene = try Scene()
        let sweep = try sweep(scene) { _ in [] }
        for number in 0..<30 { try make(scene.taskKey.appendingPathComponent("old\(number)"), 7200) }
        try await sweep.sweep()
        let note = scene.trash.appendingPathComponent(StorageSweep.note)
        #expect(names(scene.trash) == [StorageSweep.note])
        try age(note, 6 * 86_400)
        try await sweep.sweep()
        #expect(names(scene.taskKey).count == 30)
        try age(note, 7 * 86_400 + 60)
        try await sweep.sweep()
        #expect(names(scene.taskKey) == [] && names(scene.trash).count == 30)
    }

    @Test func `a few leftovers are moved even if they are all files`() async throws {
        let scene = try Scene()
        let sweep = try sweep(scene) { _ in [] }
        for number in 0..<20 { try make(scene.taskKey.appendingPathComponent("old\(number)"), 7200) }
        try await sweep.sweep()
        #expect(names(scene.taskKey) == [] && names(scene.trash).count == 20)
    }

    /// Unclaimed downloads leave many files.
    @Test(arguments: [true, false])
    func `many leftovers are swept unless the database is empty`(isEmpty: Bool) async throws {
        let scene = try Scene("segments")
        var sweep = try sweep(scene, .segments) { _ in [] }
        sweep.suspicion = .emptyDatabase { isEmpty }
        for number in 0..<30 { try make(scene.taskKey.appendingPathComponent("old\(number)"), 7200) }
        try await sweep.sweep()
        #expect(names(scene.taskKey).isEmpty == !isEmpty)
    }

    private func sweep(
        _ scene: Scene, _ folder: StorageFolder = .uploads,
        inUse: @escaping @Sendable ([String]) async throws -> Set<String>
    ) throws -> StorageSweep {
        let logger = Logger(label: "test") { _ in
            LogOutput(
                label: "test", level: .info, format: .json, write: { line in scene.log.withLock { $0.append(line) } })
        }
        return StorageSweep(
            storage: try DirectoryStorage(scene.folder.url.path), folder: folder, age: .seconds(3600),
            metrics: scene.metrics, logger: logger, inUse: inUse)
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
