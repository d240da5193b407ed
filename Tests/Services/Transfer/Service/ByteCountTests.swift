import Foundation
import NIOCore
import NIOHTTP1
import Records
import TestSupport
import Testing

/// `/metrics` counts every transferred byte.
@Suite(.tags(.database, .processes)) struct ByteCounting {
    @Test func `every stream is counted in both directions`() async throws {
        let (suite, transfer) = try await TransferSuite.start()
        defer { transfer.signal(SIGTERM) }
        try await suite.prepare("phone")
        let (port, own) = (suite.transferPort, "/v1/devices/phone/apps/app/files/own")
        func zeros(_ count: Int) -> ByteBuffer { ByteBuffer(repeating: 0, count: count) }

        #expect(try await suite.send(.PUT, port, "/content/film", zeros(1000)).status == 201)
        #expect(try await suite.send(.GET, port, "/content/film", headers: ["Range": "bytes=0-99"]).status == 206)
        #expect(try await suite.send(.PUT, port, own, zeros(300)).status == 201)
        #expect(try await suite.send(.GET, port, own).status == 200)
        let tus = ["Tus-Resumable": "1.0.0", "Upload-Length": "50", "Content-Type": "application/offset+octet-stream"]
        let upload = try #require(try await suite.send(.POST, port, "/files", headers: tus, zeros(50)).uploadPath)
        #expect(try await suite.send(.GET, port, upload).status == 200)

        let origin = "http://127.0.0.1:\(suite.proxy.port)/content"
        try await suite.completed(try await suite.download(origin + "/film"))
        let created = try await suite.call(
            .POST, port, Downloads.session("phone") + "/uploads",
            #"{"resume":true,"url":"\#(origin)/copy","method":"PUT","file":"own"}"#)
        let sent = try await suite.completed(try #require(created.json["task"]?.int))
        let answer = try #require(sent["bytesReceived"]?.int)
        #expect(answer > 0)

        let want = [
            #"direction="received",stream="content"} 1300"#, #"direction="received",stream="files"} 300"#,
            #"direction="received",stream="uploads"} 50"#, #"direction="received",stream="workers"} \#(1000 + answer)"#,
            #"direction="sent",stream="content"} 1100"#, #"direction="sent",stream="files"} 300"#,
            #"direction="sent",stream="uploads"} 50"#, #"direction="sent",stream="workers"} 300"#,
        ]
        // Sent bytes count after the client has received them, so the count may lag.
        try await eventually(describe: "the metrics are \(want)") {
            let text = String(buffer: try await suite.send(.GET, port, "/metrics").body)
            let name = "dormouse_transfer_bytes_total{"
            let lines = text.split(separator: "\n").filter { $0.hasPrefix(name) }
            return lines.map { String($0.dropFirst(name.count)) } == want
        }
    }
}
