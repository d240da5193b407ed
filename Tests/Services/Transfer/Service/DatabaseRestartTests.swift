import Foundation
import NIOCore
import NIOHTTP1
import Records
import TestSupport
import Testing

/// Transfers continue through a restart of the database, and all their bytes count.
@Suite(.tags(.database, .processes), .serialized) struct DatabaseRestarts {
    private static let bytes = noise(20 << 20, seed: 15)

    @Test(arguments: [false, true]) func `a download survives a database restart`(isKilled: Bool) async throws {
        let cluster = try await PrivateCluster.make()
        let (suite, transfer) = try await TransferSuite.start(on: cluster)
        defer { transfer.signal(SIGTERM) }
        _ = try await suite.send(.PUT, suite.transferPort, "/content/big", Self.bytes)
        try await suite.prepare("phone")
        try await suite.proxy.pause()
        try await suite.downloadSome(of: "big")
        if isKilled { try await cluster.kill() } else { try await cluster.stop(.fast) }
        suite.proxy.resume()
        try await eventually(describe: "all bytes are on disk but not reported") { suite.bytesOnDisk == 20 << 20 }
        // The call is queued behind the report of the worker, so the report has failed too.
        let refused = try await suite.send(
            .PUT, suite.transferPort, "/v1/devices/phone/apps/app/sessions/other",
            headers: ["Content-Type": "application/json"], ByteBuffer(string: "{}"))
        #expect(refused.status == 503, "\(refused.status)")
        try await cluster.start()
        try await eventually(describe: "the service is ready again") {
            try await suite.send(.GET, suite.transferPort, "/readyz").json["checks"]?["database"] == "ok"
        }
        let done = try await suite.completed(1)
        #expect(done.ends == ["finished"] && done["error"] == .null)
        #expect(done["sha256"]?.string == sha256(Self.bytes) && done["bytesReceived"]?.int == 20 << 20)
        transfer.signal(SIGTERM)
        _ = try await transfer.exit()
        try await cluster.destroy()
    }

    /// - Parameter endsMeanwhile: Whether the request ends during the outage, so that its last bytes cannot be committed.
    @Test(arguments: [false, true]) func `an upload survives a database restart`(endsMeanwhile: Bool) async throws {
        let cluster = try await PrivateCluster.make()
        let (suite, replica) = try await UploadsSuite.start(on: cluster)
        defer { suite.stop(replica) }
        let size = 3 << 20
        let bytes = noise(size, seed: 16)
        func from(_ offset: Int) throws -> ByteBuffer {
            try #require(bytes.getSlice(at: offset, length: size - offset))
        }
        let path = try await replica.begin(["Upload-Length": "\(size)"])
        let headers = ["Tus-Resumable": "1.0.0", "Content-Type": "application/offset+octet-stream"]
        let lines = headers.map { "\($0): \($1)" } + ["Upload-Offset: 0", "Content-Length: \(size)"]
        // One write of the service. When it is on disk, the service has read the whole part.
        let part = 256 << 10
        let wire = try await replica.half("PATCH", path, lines, try #require(bytes.getSlice(at: 0, length: part)))
        try await eventually(describe: "the part is written") { suite.bytesOnDisk == part }
        try await cluster.stop(.fast)
        try await eventually(describe: "the service reports the outage") {
            let answer = try await replica.send(.GET, "/readyz")
            return answer.status == 200 && answer.json["checks"]?["database"] == "failing"
        }
        if endsMeanwhile {
            try await wire.send(try from(part))
            let heard = try await wire.heard("\r\n\r\n")
            #expect(heard.hasPrefix("HTTP/1.1 503"), "\(heard)")
        }
        try await cluster.start()
        try await eventually(describe: "the service is ready again") {
            try await replica.send(.GET, "/readyz").json["checks"]?["database"] == "ok"
        }
        if endsMeanwhile {
            let told = try #require(try await replica.offset(path))
            let again = headers.merging(["Upload-Offset": "\(told)"]) { $1 }
            #expect(try await replica.send(.PATCH, path, again, try from(told)).status == 204)
        } else {
            try await wire.send(try from(part))
            let heard = try await wire.heard("\r\n\r\n")
            #expect(heard.hasPrefix("HTTP/1.1 204"), "\(heard)")
        }
        #expect(try await replica.offset(path) == size)
        #expect(sha256(try await replica.send(.GET, path).body) == sha256(bytes))
        replica.process.signal(SIGTERM)
        _ = try await replica.process.exit()
        try await cluster.destroy()
    }
}
