import Crypto
import Foundation
import Logging
import NIOCore
import NIOHTTP1
import Postgres
import Records
import TestSupport
import Testing
import Timeline

@testable import TransferService

/// The files of apps over HTTP.
@Suite(.tags(.database, .processes), .serialized) struct AppFilesTests {
    private static let files = "/v1/devices/phone/apps/app/files"
    private static let session = "/v1/devices/phone/apps/app/sessions/s"

    private func run(_ body: (TransferSuite) async throws -> Void) async throws {
        let (suite, transfer) = try await TransferSuite.start()
        defer { transfer.signal(SIGTERM) }
        try await suite.prepare("phone")
        try await body(suite)
    }

    @Test func `a file of an app can be read, replaced and removed`() async throws {
        try await run { suite in
            let port = suite.transferPort
            let text = ByteBuffer(string: "0123456789")
            let put = try await suite.send(
                .PUT, port, Self.files + "/a.txt", headers: ["Content-Type": "text/plain"], text)
            #expect(put.status == 201 && put.json["length"]?.int == 10 && put.json["name"]?.string == "a.txt")
            let sha256 = SHA256.hash(data: Data("0123456789".utf8)).map { String(format: "%02x", $0) }.joined()
            #expect(put.json["sha256"]?.string == sha256)
            let got = try await suite.send(.GET, port, Self.files + "/a.txt")
            #expect(got.body == text && got.headers.first(name: "Content-Type") == "text/plain")
            let head = try await suite.send(.HEAD, port, Self.files + "/a.txt")
            #expect(head.status == 200 && head.headers.first(name: "Content-Length") == "10")

            _ = try await suite.send(.PUT, port, Self.files + "/a.txt", ByteBuffer(string: "other"))
            let list = try await suite.call(.GET, port, Self.files).json
            #expect(list["items"]?.items?.compactMap { $0["length"]?.int } == [5])
            #expect(try await suite.send(.DELETE, port, Self.files + "/a.txt").status == 204)
            for method in ["GET", "DELETE"] {
                let gone = try await suite.send(.init(rawValue: method), port, Self.files + "/a.txt")
                #expect(gone.status == 404 && gone.json["code"]?.string == "unknown_file")
            }
        }
    }

    @Test func `a built-in device has files without content`() async throws {
        try await run { suite in
            let port = suite.transferPort
            let film = Self.files + "/film?length=2000000000"
            let real = try await suite.send(.PUT, port, film)
            #expect(real.status == 400 && real.json["errors"]?[0]?["pointer"]?.string == "/length")
            let simulate = #"{"profile":"ios18","simulate":{"answers":{"by":"client"},"transfers":{}}}"#
            #expect(
                try await suite.send(
                    .PUT, suite.lifecyclePort, "/v1/devices/phone", headers: ["Content-Type": "application/json"],
                    ByteBuffer(string: simulate)
                ).status == 200)
            try await eventually(describe: "transfer knows the built-in device") {
                try await suite.send(.PUT, port, film).status == 201
            }
            for (path, length) in [("/film?length=-1", nil), ("/film?length=5", 5)] as [(String, Int?)] {
                let body = length.map { ByteBuffer(repeating: 0, count: $0) }
                let refused = try await suite.send(.PUT, port, Self.files + path, body)
                #expect(refused.status == 400 && refused.json["code"]?.string == "invalid_query", "\(path)")
            }
            let list = try await suite.call(.GET, port, Self.files).json
            #expect(list["items"]?[0]?["length"]?.int == 2_000_000_000)
            let gone = try await suite.send(.GET, port, Self.files + "/film")
            #expect(gone.status == 410 && gone.json["code"]?.string == "file_gone")
            // No server gets a request, so ALLOWED_ORIGINS does not count.
            let upload = #"{"file":"film","method":"POST","resume":true,"url":"https://origin.example/"}"#
            let created = try await suite.call(.POST, port, Self.session + "/uploads", upload)
            #expect(created.status == 201 && created.json["state"]?.string == "running")
        }
    }

    @Test func `refused files take no space`() async throws {
        try await run { suite in
            let port = suite.transferPort
            let text = ByteBuffer(string: "x")
            let noApp = try await suite.send(.PUT, port, "/v1/devices/phone/apps/other/files/f", text)
            #expect(noApp.status == 404 && noApp.json["code"]?.string == "app_not_installed")
            #expect(try await suite.send(.PUT, port, "/v1/devices/nobody/apps/app/files/f", text).status == 404)
            #expect(try await suite.send(.PUT, port, Self.files + "/a%20b", text).status == 400)
            for number in 1...64 {
                #expect(try await suite.send(.PUT, port, Self.files + "/f\(number)", text).status == 201)
            }
            let full = try await suite.send(.PUT, port, Self.files + "/f65", text)
            #expect(full.status == 409 && full.json["code"]?.string == "too_many_files")
            let folder = suite.directory.appendingPathComponent("segments")
            let kept = try FileManager.default.contentsOfDirectory(atPath: folder.path).count
            #expect(kept == 64, "refused files take no space")
            #expect(try await suite.send(.PUT, port, Self.files + "/f64", text).status == 201, "a file can be replaced")

            let upload = try await suite.send(
                .POST, port, Self.session + "/uploads", headers: ["Content-Type": "application/json"],
                ByteBuffer(string: #"{"resume":true,"url":"http://127.0.0.1:\#(suite.proxy.port)/x","file":"none"}"#))
            #expect(upload.status == 404 && upload.json["code"]?.string == "unknown_file")
            let both = try await suite.send(
                .POST, port, Self.session + "/downloads", headers: ["Content-Type": "application/json"],
                ByteBuffer(string: #"{"resume":true,"url":"http://127.0.0.1:\#(suite.proxy.port)/x","resumeData":"y"}"#)
            )
            #expect(both.status == 422 && both.json["code"]?.string == "invalid_document")
        }
    }

    @Test func `explain lists the reasons against transfers and wakes`() async throws {
        try await run { suite in
            let port = suite.transferPort
            let url = "http://127.0.0.1:\(suite.proxy.port)/content/none"
            try await suite.call(
                .POST, port, Self.session + "/downloads",
                #"{"resume":true,"url":"\#(url)","earliestBeginDate":"2999-01-01T00:00:00.000Z"}"#)
            let changed = try await suite.call(
                .PATCH, suite.lifecyclePort, "/v1/devices/phone/conditions",
                #"{"network":{"kind":"none"},"battery":{"level":0.1}}"#)
            let told = try await suite.call(
                .GET, port, "/v1/devices/phone/apps/app/explain",
                position: changed.headers.first(name: "Dormouse-Position")
            ).json
            let session = try #require(told["sessions"]?[0])
            #expect(told["state"]?.string == "foreground" && told["network"]?["kind"]?.string == "none")
            #expect(
                session["reasonsAgainstWake"]?.items?.compactMap(\.string)
                    == ["inForeground", "unfinishedTasks", "nothingNew"])
            let task = try #require(session["tasks"]?[0])
            #expect(task["isMoving"]?.bool == false)
            #expect(
                task["hindrances"]?.items?.compactMap { $0["reason"]?.string }
                    == ["waitingForBeginDate", "waitingForConnectivity"])
            #expect(try await suite.send(.GET, port, "/v1/devices/phone/apps/b/explain").status == 404)
        }
    }

    @Test func `only unreferenced files are swept`() async throws {
        try await run { suite in
            let port = suite.transferPort
            let folder = suite.directory.appendingPathComponent("segments")
            _ = try await suite.send(.PUT, port, Self.files + "/kept", ByteBuffer(string: "kept"))
            let kept = try FileManager.default.contentsOfDirectory(atPath: folder.path)
            _ = try await suite.send(.PUT, port, Self.files + "/replaced", ByteBuffer(string: "old"))
            _ = try await suite.send(.DELETE, port, Self.files + "/replaced")
            try Data("left by a killed process".utf8).write(to: folder.appendingPathComponent("orphan-1"))
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).count == 3)

            let logger = Logger(label: "sweep")
            let options = try ConnectionOptions(url: suite.cluster.url(database: suite.database))
            let pool = ConnectionPool(options, size: 1, logger: logger)
            let states = FileReferences(store: TransferStore(pool: pool, partitions: 16))
            var sweep = StorageSweep(
                storage: try DirectoryStorage(suite.directory.path), folder: .segments, logger: logger
            ) { try await states.pieces(of: $0) }
            try await sweep.sweep()
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).count == 3, "young files stay")
            sweep.age = .zero
            try await sweep.sweep()
            await pool.close()
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == kept)
            #expect(try await suite.send(.GET, port, Self.files + "/kept").body == ByteBuffer(string: "kept"))
        }
    }
}
