import Foundation
import TestSupport
import Testing

/// A temporary folder that is removed after its test.
final class Folder: Sendable {
    let url: URL

    init() throws {
        url = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(at: url) }

    /// Creates a sparse file of zeros. Every 33 MB it contains its own offset as text.
    func makeSparseFile(_ size: Int) throws -> URL {
        let url = url.appendingPathComponent("source")
        try #require(FileManager.default.createFile(atPath: url.path, contents: nil))
        let file = try FileHandle(forWritingTo: url)
        defer { try? file.close() }
        try file.truncate(atOffset: UInt64(size))
        for taskKey in stride(from: 5, to: size, by: 33_333_333) {
            try file.seek(toOffset: UInt64(taskKey))
            try file.write(contentsOf: Data("\(taskKey)".utf8))
        }
        return url
    }

    /// Returns the SHA-256 digest of a file.
    static func hash(_ url: URL) async throws -> String {
        let process = try ChildProcess.start("/usr/bin/sha256sum", [url.path])
        _ = try await process.exit(within: 120)
        return String(process.output.lines.first?.prefix(64) ?? "")
    }
}
