import Contracts
import Foundation
import NIOCore
import NIOHTTP1
import OrderedCollections
import Records
import TestSupport
import Testing
import TransferCore

/// Downloads on several devices, and the checks that must hold after every fault.
struct Downloads: Sendable {
    let suite: TransferSuite
    let devices: [String]
    /// The files of each device, in the order of its tasks.
    let files: [String: [ContentOrigin.File]]

    /// Creates devices and one task for each file. The files are dealt out in turns.
    ///
    /// - Parameter port: The port of the origin or of a proxy in front of it.
    static func begin(
        _ files: [ContentOrigin.File], from port: Int, on suite: TransferSuite, devices count: Int
    ) async throws -> Downloads {
        let devices = (0..<count).map { "phone-\($0)" }
        var dealt: [String: [ContentOrigin.File]] = [:]
        for (index, file) in files.enumerated() { dealt[devices[index % count], default: []].append(file) }
        let downloads = Downloads(suite: suite, devices: devices, files: dealt)
        try await inParallel(devices) { device in
            try await suite.prepare(device)
            for file in downloads.files[device] ?? [] { try await downloads.add(file, to: device, from: port) }
        }
        return downloads
    }

    /// Creates one task, claims its file, and starts the task. A task that starts earlier may fail before the claim.
    func add(_ file: ContentOrigin.File, to device: String, from port: Int) async throws {
        let created = try await suite.call(
            .POST, suite.transferPort, "\(Self.session(device))/downloads",
            #"{"url":"http://127.0.0.1:\#(port)/content/\#(file.name)"}"#)
        let task = "\(Self.session(device))/tasks/\(try #require(created.json["task"]?.int))"
        try await suite.call(.POST, suite.transferPort, task + "/claim", #"{"name":"\#(file.name)"}"#)
        try await suite.call(.POST, suite.transferPort, task + "/resume")
    }

    /// Returns the file that an app has claimed.
    func claimed(_ file: ContentOrigin.File, by device: String) async throws -> HTTPAnswer {
        try await suite.send(.GET, suite.transferPort, "/v1/devices/\(device)/apps/app/files/\(file.name)")
    }

    static func session(_ device: String) -> String { "/v1/devices/\(device)/apps/app/sessions/s" }

    func tasks(of device: String) async throws -> [JSON] {
        try await suite.call(.GET, suite.transferPort, Self.session(device)).json["tasks"]?.items ?? []
    }

    /// Waits until all tasks are completed.
    func completed(within seconds: Double = 60) async throws {
        for device in devices {
            try await eventually(within: seconds, describe: "all downloads of \(device) are completed") {
                try await tasks(of: device).allSatisfy { $0["state"]?.string == "completed" }
            }
        }
    }

    /// Checks that every file is complete and that each attempt continued where the former ended. Returns all attempts.
    @discardableResult
    func areWhole(_ comment: Comment? = nil) async throws -> [[JSON]] {
        var all: [[JSON]] = []
        for device in devices {
            let tasks = try await tasks(of: device)
            let files = files[device] ?? []
            #expect(tasks.count == files.count, comment)
            for (task, file) in zip(tasks, files) {
                #expect(task["error"] == .null, comment)
                #expect(task["sha256"]?.string == file.sha256, comment)
                #expect(task["bytesReceived"]?.int == file.bytes.readableBytes, comment)
                let attempts = task["attempts"]?.items ?? []
                #expect(attempts.last?["end"]?.string == "finished", comment)
                for (former, next) in zip(attempts, attempts.dropFirst()) {
                    #expect(former["to"]?.int == next["from"]?.int, comment)
                }
                all.append(attempts)
            }
        }
        try await inParallel(devices) { device in
            for file in files[device] ?? [] {
                let got = try await claimed(file, by: device)
                #expect(got.status == 200 && sha256(got.body) == file.sha256, comment)
            }
        }
        return all
    }

    /// Returns the tasks in the stored states by device.
    func states() async throws -> [String: [TransferTask]] {
        let rows = try await suite.cluster.sql(
            "SELECT key || ' ' || encode(state, 'hex') FROM transfer.states", database: suite.database)
        return try rows.split(separator: "\n").reduce(into: [:]) { states, row in
            let words = row.split(separator: " ")
            let state = try #require(TransferMachine(binary: bytes(hexadecimal: words[1])))
            states[String(words[0].dropFirst("device:".count))] =
                state.sessions.first { $0.key.session == "s" }?.session.tasks ?? []
        }
    }

    /// Checks that all reported bytes are in storage. Call it while no worker writes.
    ///
    /// - Returns: The number of reported bytes of each unfinished task by device and task.
    func areStored() async throws -> [String: [Int: Int]] {
        try await states().mapValues { tasks in
            for piece in tasks.flatMap(\.pieces) {
                let path = suite.directory.appendingPathComponent("segments/\(piece.name)").path
                let size = try? FileManager.default.attributesOfItem(atPath: path)[.size] as? Int
                #expect(size ?? -1 >= piece.length, "\(piece.name): \(piece.length) bytes were reported")
            }
            let running = tasks.filter { $0.state == .running }
            return Dictionary(uniqueKeysWithValues: running.map { ($0.task, $0.bytesReceived) })
        }
    }

    private func bytes(hexadecimal text: Substring) -> [UInt8] {
        let digits = text.utf8.map { $0 < 0x3A ? $0 - 0x30 : $0 - 0x57 }
        return stride(from: 0, to: digits.count, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
    }
}
