import Foundation
import NIOCore
import NIOHTTP1
import Records
import TestSupport
import Testing

/// Calls about the tasks of devices that ``TransferSuite/prepare(_:)`` has created.
extension TransferSuite {
    /// Creates a download, which begins at once, and returns the identifier of its task.
    @discardableResult
    func download(_ url: String, on device: String = "phone") async throws -> Int {
        let created = try await call(
            .POST, transferPort, Downloads.session(device) + "/downloads", #"{"resume":true,"url":"\#(url)"}"#)
        return try #require(created.json["task"]?.int)
    }

    func task(_ task: Int, of device: String = "phone") async throws -> JSON {
        try await call(.GET, transferPort, "\(Downloads.session(device))/tasks/\(task)").json
    }

    /// Waits for a condition on a task and returns its document.
    @discardableResult
    func task(
        _ task: Int, of device: String = "phone", until what: String, _ condition: @escaping @Sendable (JSON) -> Bool
    ) async throws -> JSON {
        try await eventually(within: 60, describe: "task \(task) of \(device): \(what)") { [self] in
            condition(try await self.task(task, of: device))
        }
        return try await self.task(task, of: device)
    }

    @discardableResult
    func completed(_ task: Int, of device: String = "phone") async throws -> JSON {
        try await self.task(task, of: device, until: "is completed") { $0["state"]?.string == "completed" }
    }

    /// Waits for a challenge of a task and returns its identifier.
    func challenge(of task: Int) async throws -> String {
        let document = try await self.task(task, until: "asks its app") { $0["challenge"]?["id"]?.string != nil }
        return try #require(document["challenge"]?["id"]?.string)
    }

    func answer(
        _ challenge: String, _ document: String, headers: [String: String] = [:], app: String = "app"
    ) async throws -> HTTPAnswer {
        try await send(
            .POST, transferPort, "/v1/devices/phone/apps/\(app)/challenges/\(challenge)",
            headers: ["Content-Type": "application/json"].merging(headers) { $1 }, ByteBuffer(string: document))
    }

    func sql(_ query: String) async throws -> String {
        try await cluster.sql(query, database: database).trimmingCharacters(in: .whitespacesAndNewlines)
    }

    /// Returns the names of the files in a folder of the directory.
    func files(in folder: String) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: directory.appendingPathComponent(folder).path).sorted()
    }
}

extension JSON {
    /// The ends of a task's attempts.
    var ends: [String?] { (self["attempts"]?.items ?? []).map { $0["end"]?.string } }
}
