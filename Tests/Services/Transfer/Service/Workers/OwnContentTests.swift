import Foundation
import NIOCore
import NIOHTTP1
import Records
import TestSupport
import Testing

/// Transfers from and to the own service.
@Suite(.tags(.database, .processes), .serialized) struct OwnContents {
    private static let app = "/v1/devices/phone/apps/app"

    /// The service runs without `ALLOWED_ORIGINS`.
    @Test func `only the own service may be fetched from by default`() async throws {
        let (suite, transfer) = try await TransferSuite.start(origins: nil)
        defer { transfer.signal(SIGTERM) }
        _ = try await suite.send(.PUT, suite.transferPort, "/content/film", ByteBuffer(string: "film"))
        try await suite.prepare("phone")
        try await suite.download("http://127.0.0.1:\(suite.transferPort)/content/film")
        let done = try await suite.completed(1)
        #expect(done["error"] == .null && done["sha256"]?.string == sha256(ByteBuffer(string: "film")))
        for origin in [
            "http://127.0.0.1:\(suite.proxy.port)", "http://127.0.0.1:\(suite.lifecyclePort)",
            "https://127.0.0.1:\(suite.transferPort)", "http://files.example",
        ] {
            let refused = try await suite.send(
                .POST, suite.transferPort, Downloads.session("phone") + "/downloads",
                headers: ["Content-Type": "application/json"],
                ByteBuffer(string: #"{"resume":true,"url":"\#(origin)/content/film"}"#)
            )
            #expect(refused.status == 422 && refused.code == "origin_not_allowed", "\(origin)")
        }
    }

    /// At EDGE speed 8 MB take more than five minutes. Then the device enters a faster network.
    @Test func `an upload is as slow as the network of its device`() async throws {
        let (suite, transfer) = try await TransferSuite.start()
        defer { transfer.signal(SIGTERM) }
        try await suite.prepare("phone")
        let bytes = noise(8 << 20, seed: 17)
        _ = try await suite.send(.PUT, suite.transferPort, Self.app + "/files/film", bytes)
        func enter(_ shape: String) async throws {
            let changed = try await suite.call(
                .PATCH, suite.lifecyclePort, "/v1/devices/phone/conditions",
                #"{"network":{"kind":"cellular","shape":"\#(shape)"}}"#)
            try await suite.call(
                .GET, suite.transferPort, Downloads.session("phone"), position: changed["Dormouse-Position"])
        }
        try await enter("edge")
        try await suite.call(
            .POST, suite.transferPort, Downloads.session("phone") + "/uploads",
            #"{"resume":true,"url":"http://127.0.0.1:\#(suite.proxy.port)/content/film","method":"PUT","file":"film"}"#)
        let early = try await suite.task(1, until: "something is sent") { $0["bytesSent"]?.int ?? 0 > 0 }
        #expect(early["bytesSent"]?.int ?? 0 < 2 << 20)
        try await enter("5g")
        let done = try await suite.completed(1)
        #expect(done["error"] == .null && done.ends == ["finished"], "the same attempt continued")
        let arrived = try await suite.send(.GET, suite.transferPort, "/content/film")
        #expect(sha256(arrived.body) == sha256(bytes))
    }

    /// The source of the task is a concatenated upload of several files, named by one of the protocols.
    @Test(arguments: ["/files/", "/uploads/"]) func `a task sends a concatenated upload`(prefix: String) async throws {
        let (suite, transfer) = try await TransferSuite.start()
        defer { transfer.signal(SIGTERM) }
        try await suite.prepare("phone")
        let parts = [noise(700_000, seed: 18), ByteBuffer(), noise(300_001, seed: 19)]
        let tus = ["Tus-Resumable": "1.0.0", "Content-Type": "application/offset+octet-stream"]
        var paths: [String] = []
        for part in parts {
            let own = ["Upload-Length": "\(part.readableBytes)", "Upload-Concat": "partial"]
            let created = try await suite.send(
                .POST, suite.transferPort, "/files", headers: tus.merging(own) { $1 }, part)
            paths.append(try #require(created["Location"]))
        }
        let joined = try await suite.send(
            .POST, suite.transferPort, "/files",
            headers: ["Tus-Resumable": "1.0.0", "Upload-Concat": "final;" + paths.joined(separator: " ")])
        let id = try #require(joined.uploadPath).dropFirst("/files/".count)
        let url = "http://127.0.0.1:\(suite.proxy.port)/content/joined"
        try await suite.call(
            .POST, suite.transferPort, Downloads.session("phone") + "/uploads",
            #"{"resume":true,"url":"\#(url)","method":"PUT","file":"\#(prefix)\#(id)"}"#)
        let done = try await suite.completed(1)
        var whole = ByteBuffer()
        for part in parts { whole.writeImmutableBuffer(part) }
        #expect(done["error"] == .null && done["bytesSent"]?.int == whole.readableBytes)
        let arrived = try await suite.send(.GET, suite.transferPort, "/content/joined")
        #expect(sha256(arrived.body) == sha256(whole))
    }
}
