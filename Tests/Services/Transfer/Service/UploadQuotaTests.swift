import Identity
import NIOCore
import NIOHTTP1
import TestSupport
import Testing
import Timeline

@testable import TransferService

/// The limits of the bytes of uploads that callers can store.
@Suite("Quotas of uploads", .tags(.database, .processes), .timeLimit(.minutes(3))) struct UploadQuotaTests {
    @Test func `a device and a fleet have a quota of bytes of uploads, and operators have none`() async throws {
        let (suite, replica) = try await UploadsSuite.start([
            "--device-upload-quota", "10", "--fleet-upload-quota", "45",
        ])
        let callers = try await suite.headers(of: [("d1", "f1"), ("d2", "f1"), (nil, "f1")])
        let (phone, other, fleet) = (callers[0], callers[1], callers[2])
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
        #expect(try await create(fleet, 6).status == 507)
        #expect(try await create([:], 1000).status == 201)
        // A deleted upload takes no space.
        #expect(try await replica.tus(.DELETE, try #require(first.uploadPath), phone).status == 204)
        #expect(try await suite.sql("SELECT count(*) FROM bus.audit") == "0", "its owner removed it")
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
        #expect(try await suite.sql(Self.wrongSums) == "0")
        suite.stop(replica)
    }

    /// The number of fleets whose stored sum is not the sum of their uploads.
    private static let wrongSums = """
        SELECT count(*) FROM (
            SELECT fleet, sum(coalesce(length, received)) AS bytes FROM transfer.uploads
            WHERE NOT is_deleted AND fleet IS NOT NULL GROUP BY fleet) AS s
        FULL JOIN transfer.upload_bytes AS b USING (fleet) WHERE coalesce(s.bytes, 0) <> coalesce(b.bytes, 0)
        """

    @Test func `the uploads of a fleet's devices have one quota in all replicas`() async throws {
        let settings = ["--fleet-upload-quota", "20", "--upload-lifetime", "600"]
        let (suite, replica) = try await UploadsSuite.start(settings)
        let other = try await suite.replica()
        let callers = try await suite.headers(of: [("d1", "f1"), ("d2", "f1"), (nil, "f1"), ("d3", "f2")])
        @Sendable func create(
            _ caller: Int, _ length: Int, at server: UploadsSuite.Replica
        ) async throws -> HTTPAnswer {
            let headers = callers[caller].merging(["Upload-Length": "\(length)"]) { $1 }
            return try await server.tus(.POST, "/files", headers)
        }
        let first = try await create(0, 10, at: replica)
        #expect(first.status == 201)
        let refused = try await create(1, 11, at: other)
        #expect(refused.status == 507 && refused.code == "upload_quota_exceeded")
        // An upload of unknown length counts with its received bytes, then with its length.
        let open = try await other.tus(.POST, "/files", callers[1].merging(["Upload-Defer-Length": "1"]) { $1 })
        let path = try #require(open.uploadPath)
        func append(_ offset: Int, _ body: String, _ more: [String: String] = [:]) async throws -> Int {
            let headers = callers[1].merging(["Upload-Offset": "\(offset)"]) { $1 }.merging(more) { $1 }
            return try await other.tus(.PATCH, path, headers, body).status
        }
        #expect(try await append(0, "01234567") == 204)
        #expect(try await create(2, 3, at: replica).status == 507)
        #expect(try await append(8, "012") == 507)
        #expect(try await append(8, "", ["Upload-Length": "11"]) == 507)
        #expect(try await append(8, "", ["Upload-Length": "10"]) == 204)
        #expect(try await create(2, 1, at: replica).status == 507)
        #expect(try await append(8, "01") == 204)
        #expect(try await create(3, 20, at: replica).status == 201, "another fleet has a quota of its own")
        #expect(try await replica.tus(.DELETE, try #require(first.uploadPath), callers[0]).status == 204)
        #expect(try await create(2, 11, at: other).status == 507)
        #expect(try await create(2, 9, at: other).status == 201)
        #expect(try await suite.sql(Self.wrongSums) == "0")
        // An expired upload takes no space either, from the next sweep on.
        _ = try await suite.sql("UPDATE transfer.uploads SET expires_at = now() WHERE owner = 'fleet:f1'")
        suite.stop(other)
        let third = try await suite.replica()
        try await eventually(describe: "the quota has room for 10 bytes") {
            try await create(2, 10, at: third).status == 201
        }
        #expect(try await suite.sql(Self.wrongSums) == "0")
        suite.stop(replica, third)
    }

    @Test func `devices of one fleet that create uploads at the same time stay within its quota`() async throws {
        let (suite, replica) = try await UploadsSuite.start(["--fleet-upload-quota", "20"])
        let callers = try await suite.headers(of: (0..<12).map { ("d\($0)", "f1") })
        let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
            for caller in callers {
                group.addTask {
                    try await replica.tus(.POST, "/files", caller.merging(["Upload-Length": "5"]) { $1 }).status
                }
            }
            return try await group.reduce(into: [Int: Int]()) { $0[$1, default: 0] += 1 }
        }
        #expect(statuses == [201: 4, 507: 8])
        suite.stop(replica)
    }

    /// The bytes of a request with a checksum count only at its end.
    @Test func `a body does not exceed a quota that others have filled meanwhile`() async throws {
        let (suite, replica) = try await UploadsSuite.start(["--device-upload-quota", "10"])
        let caller = try await suite.headers(of: [("d1", "f1")])[0]
        func begin() async throws -> String {
            let open = try await replica.tus(.POST, "/files", caller.merging(["Upload-Defer-Length": "1"]) { $1 })
            return try #require(open.uploadPath)
        }
        func append(_ body: String, to path: String) async throws -> Int {
            try await replica.tus(.PATCH, path, caller.merging(["Upload-Offset": "0"]) { $1 }, body).status
        }
        let (slow, fast) = (try await begin(), try await begin())
        let headers =
            caller.map { "\($0): \($1)" } + [
                "Tus-Resumable: 1.0.0", "Content-Type: application/offset+octet-stream", "Upload-Offset: 0",
                "Content-Length: 8", "Upload-Checksum: sha1 fCIvspJ9goryL1khNOiTJIBjfA0=",
            ]
        let wire = try await replica.half("PATCH", slow, headers, ByteBuffer(string: "1234"))
        try await eventually(describe: "the first half has arrived") {
            let metrics = String(buffer: try await replica.send(.GET, "/metrics").body)
            return metrics.split(separator: "\n").contains { line in
                ["dormouse_transfer_bytes_total", #""received""#, #""uploads""#, " 4"].allSatisfy(line.contains)
            }
        }
        #expect(try await append("12345678", to: fast) == 204)
        try await wire.send("5678")
        #expect(try await wire.heard("upload_quota_exceeded").hasPrefix("HTTP/1.1 507"))
        #expect(try await replica.tus(.HEAD, slow, caller).headers.first(name: "Upload-Offset") == "0")
        #expect(try await suite.sql("SELECT bytes FROM transfer.upload_bytes") == "8")
        // The upload can go on with what fits.
        #expect(try await append("12", to: slow) == 204)
        #expect(try await suite.sql(Self.wrongSums) == "0")
        suite.stop(replica)
    }

    @Test func `concatenations stop at the quota`() async throws {
        let (suite, replica) = try await UploadsSuite.start(["--device-upload-quota", "10"])
        let caller = try await suite.headers(of: [("d1", "f1")])[0]
        let part = try await replica.tus(
            .POST, "/files", caller.merging(["Upload-Length": "6", "Upload-Concat": "partial"]) { $1 })
        let path = try #require(part.uploadPath)
        let append = caller.merging(["Upload-Offset": "0"]) { $1 }
        #expect(try await replica.tus(.PATCH, path, append, "123456").status == 204)
        // The bytes of a concatenation are already stored, so it may exceed the quota. The next one may not.
        let final = caller.merging(["Upload-Concat": "final;\(path) \(path)"]) { $1 }
        #expect(try await replica.tus(.POST, "/files", final).status == 201)
        #expect(try await replica.tus(.POST, "/files", final).status == 507)
        #expect(try await suite.sql("SELECT bytes FROM transfer.upload_bytes") == "18")
        suite.stop(replica)
    }

    @Test func `a device has at most 10,000 uploads, also empty ones`() async throws {
        let (suite, replica) = try await UploadsSuite.start()
        let callers = try await suite.headers(of: [("d1", "f1"), ("d2", "f1")])
        func create(_ caller: [String: String]) async throws -> HTTPAnswer {
            try await replica.tus(.POST, "/files", caller.merging(["Upload-Length": "0"]) { $1 })
        }
        let first = try await create(callers[0])
        try #require(first.status == 201)
        _ = try await suite.sql(
            """
            INSERT INTO transfer.uploads (partition, id, owner, epoch, is_held, received, length, is_complete, files, sizes,
                is_deleted)
            SELECT partition, 'copy-' || n, owner, 1, false, 0, 0, true, '{}', '{}', false
            FROM transfer.uploads, generate_series(2, 10000) AS n
            """)
        let refused = try await create(callers[0])
        #expect(refused.status == 507 && refused.code == "upload_quota_exceeded")
        #expect(try await create(callers[1]).status == 201)
        #expect(try await replica.tus(.DELETE, try #require(first.uploadPath), callers[0]).status == 204)
        #expect(try await create(callers[0]).status == 201)
        suite.stop(replica)
    }

    @Test func `uploads that are created at the same time stay within the quota`() async throws {
        let (suite, replica) = try await UploadsSuite.start(["--device-upload-quota", "20"])
        let caller = try await suite.headers(of: [("d1", "f1")])[0]
        let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<12 {
                group.addTask {
                    try await replica.tus(.POST, "/files", caller.merging(["Upload-Length": "5"]) { $1 }).status
                }
            }
            return try await group.reduce(into: [Int: Int]()) { $0[$1, default: 0] += 1 }
        }
        #expect(statuses == [201: 4, 507: 8])
        suite.stop(replica)
    }

    @Test func `a late length that the body contradicts does not become the length`() async throws {
        let (suite, replica) = try await UploadsSuite.start(["--device-upload-quota", "20"])
        let caller = try await suite.headers(of: [("d1", "f1")])[0]
        let open = try await replica.tus(.POST, "/files", caller.merging(["Upload-Defer-Length": "1"]) { $1 })
        let path = try #require(open.uploadPath)
        let late = caller.merging(["Upload-Offset": "0", "Upload-Length": "2"]) { $1 }
        #expect(try await replica.tus(.PATCH, path, late, "123").status == 413)
        #expect(try await replica.tus(.HEAD, path, caller).headers.first(name: "Upload-Length") == nil)
        suite.stop(replica)
    }
}

extension UploadsSuite {
    /// Returns the header fields of callers with tokens of a new key: of devices, or of a fleet where the device is nil.
    fileprivate func headers(of callers: [(device: String?, fleet: String)]) async throws -> [[String: String]] {
        let tokens = try await DeviceTokens(pem: DeviceTokens.newKey(), keyID: "k1")
        _ = try await sql(
            "INSERT INTO bus.token_keys VALUES ('k1', '\(TokenIssuer.service)', '\(tokens.publicKey)') RETURNING kid")
        var headers: [[String: String]] = []
        for (device, fleet) in callers {
            let token = try await tokens.issue(device: device, fleet: fleet, id: "t", lifetime: .hours(1), position: 0)
            headers.append(["Authorization": "Bearer \(token)"])
        }
        return headers
    }
}
