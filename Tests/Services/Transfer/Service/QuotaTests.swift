import Foundation
import Identity
import NIOCore
import NIOHTTP1
import Records
import TestSupport
import Testing
import Timeline
import TransferCore

@testable import TransferService

/// The limits of the bytes that callers can store.
@Suite("Quotas", .tags(.database, .processes), .timeLimit(.minutes(3))) struct QuotaTests {
    @Test func `a device and a fleet have a quota of bytes of uploads, and operators have none`() async throws {
        let (suite, replica) = try await UploadsSuite.start([
            "--device-upload-quota", "10", "--fleet-upload-quota", "20",
        ])
        let tokens = try await DeviceTokens(pem: DeviceTokens.newKey(), keyID: "k1")
        _ = try await suite.sql(
            "INSERT INTO bus.token_keys VALUES ('k1', '\(TokenIssuer.service)', '\(tokens.publicKey)') RETURNING kid")
        func caller(_ device: String?) async throws -> [String: String] {
            let token = try await tokens.issue(device: device, fleet: "f1", id: "t", lifetime: .hours(1), position: 0)
            return ["Authorization": "Bearer \(token)"]
        }
        let (phone, other, fleet) = (try await caller("d1"), try await caller("d2"), try await caller(nil))
        func create(_ caller: [String: String], _ length: Int) async throws -> HTTPAnswer {
            try await replica.tus(.POST, "/files", caller.merging(["Upload-Length": "\(length)"]) { $1 })
        }
        let first = try await create(phone, 6)
        #expect(first.status == 201)
        let refused = try await create(phone, 5)
        #expect(refused.status == 507 && refused.code == "upload_quota_exceeded")
        #expect(try await create(phone, 4).status == 201)
        #expect(try await create(other, 10).status == 201, "each device has its own quota")
        #expect(try await create(fleet, 20).status == 201)
        #expect(try await create(fleet, 1).status == 507)
        #expect(try await create([:], 1000).status == 201)
        // A deleted upload takes no space.
        #expect(try await replica.tus(.DELETE, try #require(first.uploadPath), phone).status == 204)
        // An upload of unknown length stops at the quota.
        let open = try await replica.tus(.POST, "/files", phone.merging(["Upload-Defer-Length": "1"]) { $1 })
        let path = try #require(open.uploadPath)
        func append(_ offset: Int, _ body: String) async throws -> HTTPAnswer {
            try await replica.tus(.PATCH, path, phone.merging(["Upload-Offset": "\(offset)"]) { $1 }, body)
        }
        #expect(try await append(0, "123456").status == 204)
        let beyond = try await append(6, "7")
        #expect(beyond.status == 507 && beyond.code == "upload_quota_exceeded")
        // Nor does a length that is told later.
        let late = try await replica.tus(
            .PATCH, path, phone.merging(["Upload-Offset": "6", "Upload-Length": "11"]) { $1 }, "7")
        #expect(late.status == 507 && late.code == "upload_quota_exceeded")
        suite.stop(replica)
    }

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
