import Foundation
import NIOCore
import NIOHTTP1
import Records
import TestSupport
import Testing
import TransferCore

@testable import TransferService

/// The limits of the bytes of files and downloads that callers can store.
@Suite("Quotas", .tags(.database, .processes), .timeLimit(.minutes(3))) struct QuotaTests {
    @Test func `a download beyond the largest size ends without a byte and without a retry`() async throws {
        let origin = try await ContentOrigin.start()
        defer { origin.process.signal(SIGTERM) }
        let files = try await origin.put([200_000, 200_001], seed: 5)
        let (suite, transfer) = try await TransferSuite.start(
            origins: ["http://127.0.0.1:\(origin.port)"], settings: ["--download-max-size", "200000"])
        defer { transfer.signal(SIGTERM) }
        let downloads = try await Downloads.begin(files, from: origin.port, on: suite, devices: 1)
        try await downloads.completed()
        let tasks = try await downloads.tasks(of: "phone-0")
        try #require(tasks.count == 2)
        #expect(tasks[0]["error"] == .null && tasks[0]["sha256"]?.string == files[0].sha256)
        #expect(tasks[1]["error"]?["code"]?.int == -3003)
        #expect((tasks[1]["attempts"]?.items ?? []).map { $0["end"]?.string } == ["cannotWrite"])
        #expect(tasks[1]["bytesReceived"]?.int == 0)
        let metrics = String(buffer: try await suite.send(.GET, suite.transferPort, "/metrics").body)
        #expect(metrics.contains(#"dormouse_transfer_quota_refusals_total{quota="download_size"} 1"#))
    }

    @Test func `files of apps and downloads have a quota for a device and for a fleet`() async throws {
        let origin = try await ContentOrigin.start()
        defer { origin.process.signal(SIGTERM) }
        let downloads = try await origin.put([60_000, 50_000], seed: 5)
        let (suite, transfer) = try await TransferSuite.start(
            origins: ["http://127.0.0.1:\(origin.port)"],
            settings: ["--device-file-quota", "100000", "--fleet-file-quota", "150000", "--scan-interval", "1"])
        defer { transfer.signal(SIGTERM) }
        for device in ["phone", "tablet"] {
            try await suite.call(
                .PUT, suite.lifecyclePort, "/v1/devices/\(device)", #"{"profile":"ios18","fleet":"f1"}"#)
            try await suite.prepare(device)
        }
        @Sendable func put(_ device: String, _ name: String, _ bytes: Int) async throws -> HTTPAnswer {
            try await suite.send(
                .PUT, suite.transferPort, "/v1/devices/\(device)/apps/app/files/\(name)",
                try keystream(bytes, seed: 1))
        }
        #expect(try await put("phone", "a", 50_000).status == 201)
        let beyond = try await put("phone", "b", 50_001)
        #expect(beyond.status == 507 && beyond.code == "file_quota_exceeded")
        #expect(suite.bytesOnDisk == 50_000, "a refused body leaves no bytes")
        #expect(try await put("phone", "a", 45_000).status == 201, "a file may replace another")

        func download(_ file: ContentOrigin.File) async throws -> JSON {
            let session = Downloads.session("phone")
            let created = try await suite.call(
                .POST, suite.transferPort, session + "/downloads",
                #"{"url":"http://127.0.0.1:\#(origin.port)/content/\#(file.name)"}"#)
            let task = "\(session)/tasks/\(try #require(created.json["task"]?.int))"
            try await suite.call(.POST, suite.transferPort, task + "/claim", #"{"name":"\#(file.name)"}"#)
            try await suite.call(.POST, suite.transferPort, task + "/resume")
            try await eventually(describe: "\(file.name) is over") {
                try await suite.call(.GET, suite.transferPort, task).json["state"]?.string == "completed"
            }
            return try await suite.call(.GET, suite.transferPort, task).json
        }
        let large = try await download(downloads[0])
        #expect(large["error"]?["code"]?.int == -3003 && large["bytesReceived"]?.int == 0)
        let fitting = try await download(downloads[1])
        #expect(fitting["error"] == .null && fitting["sha256"]?.string == downloads[1].sha256)

        // The phone has 95,000 bytes of the 150,000 of the fleet.
        let ofFleet = try await put("tablet", "a", 60_000)
        #expect(ofFleet.status == 507 && ofFleet.code == "fleet_file_quota_exceeded")
        try await suite.call(.DELETE, suite.transferPort, "/v1/devices/phone/apps/app/files/a")
        try await eventually(describe: "a scan has counted the bytes") {
            try await put("tablet", "a", 60_000).status == 201
        }
        let metrics = String(buffer: try await suite.send(.GET, suite.transferPort, "/metrics").body)
        #expect(metrics.contains(#"dormouse_transfer_quota_refusals_total{quota="device_files"} 2"#))
        #expect(!metrics.contains(#"dormouse_transfer_quota_refusals_total{quota="fleet_files"} 0"#))
    }

    @Test func `nothing is stored below the reserve, and files stay readable`() async throws {
        let folder = try Folder()
        let open = try DirectoryStorage(folder.url.path)
        try await open.create("a", in: .uploads).write(ByteBuffer(string: "abc"), at: 0)
        var limits = StorageLimits()
        limits.reserve = 1 << 60
        let storage = try DirectoryStorage(folder.url.path, limits)
        await #expect(throws: StorageError.full) { _ = try await storage.create("b", in: .uploads) }
        await #expect(throws: StorageError.full) { _ = try await storage.reopen("a", in: .uploads) }
        let kept = try await storage.open("a", in: .uploads).read(at: 0, count: 9)
        #expect(kept == ByteBuffer(string: "abc"))
        try await storage.remove("a", from: .uploads)
        #expect(try freeBytes(at: folder.url.path) > 0)
    }
}
