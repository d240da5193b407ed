import Foundation
import NIOHTTP1
import Records
import TestSupport
import Testing

/// Bodies that are under way.
@Suite("Slots of uploads", .tags(.database, .processes), .timeLimit(.minutes(4))) struct UploadSlotTests {
    @Test func `a device sends at most sixteen bodies at a time`() async throws {
        let (suite, transfer) = try await TransferSuite.start()
        defer { transfer.signal(SIGTERM) }
        try await suite.prepare("phone")
        let issued = try await suite.call(.POST, suite.lifecyclePort, "/v1/devices/phone/token")
        let token = try #require(issued.json["token"]?.string)
        var wires: [UploadsWire] = []
        for _ in 0..<16 {
            let wire = try await begin(suite.transferPort, token)
            let heard = try await wire.heard("\r\n\r\n")
            #expect(heard.hasPrefix("HTTP/1.1 100 "), "the service wants the body: \(heard)")
            wires.append(wire)
        }
        let refused = try await begin(suite.transferPort, token)
        let heard = try await refused.heard("\r\n\r\n")
        #expect(heard.hasPrefix("HTTP/1.1 429 "), "\(heard)")
        // Commands have other slots.
        let read = try await suite.send(
            .GET, suite.transferPort, "/v1/devices/phone/apps/app/sessions/s",
            headers: ["Authorization": "Bearer \(token)"])
        #expect(read.status == 200)
        for wire in wires { try? await wire.close() }
    }

    /// Begins an upload by tus, and sends its body only when it is asked to.
    private func begin(_ port: Int, _ token: String) async throws -> UploadsWire {
        let wire = try await UploadsWire.connect(port)
        let head = [
            "POST /files HTTP/1.1", "Host: localhost", "Authorization: Bearer \(token)", "Tus-Resumable: 1.0.0",
            "Upload-Length: 1000", "Content-Type: application/offset+octet-stream", "Content-Length: 1000",
            "Expect: 100-continue",
        ]
        try await wire.send(head.joined(separator: "\r\n") + "\r\n\r\n")
        return wire
    }
}
