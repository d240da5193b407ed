import Foundation
import NIOCore
import NIOHTTP1
import Records
import TestSupport
import Testing

/// Uploads of devices that are interrupted. Workers are real.
@Suite(.tags(.database, .processes), .serialized) struct ResumingUploads {
    private static let file = "/v1/devices/phone/apps/app/files/film"
    private static let text = "0123456789"

    /// Creates an upload of the app's file, which begins at once.
    private func upload(_ url: String, headers: String = "{}", on suite: TransferSuite) async throws {
        try await suite.call(
            .POST, suite.transferPort, Downloads.session("phone") + "/uploads",
            #"{"resume":true,"url":"\#(url)","file":"film","headers":\#(headers)}"#)
    }

    private func received(by suite: TransferSuite) async throws -> Int {
        let text = String(buffer: try await suite.send(.GET, suite.transferPort, "/metrics").body)
        let name = #"dormouse_transfer_bytes_total{direction="received",stream="uploads"} "#
        let line = try #require(text.split(separator: "\n").first { $0.hasPrefix(name) })
        return try #require(Int(line.dropFirst(name.count)))
    }

    /// Uploads 20 MiB to the service's own `/uploads`, and cuts the connection on the way.
    private func uploadWithCut(profile: String) async throws -> (done: JSON, received: Int, sent: Int) {
        let bytes = noise(20 << 20, seed: 17)
        let (suite, transfer) = try await TransferSuite.start()
        defer { transfer.signal(SIGTERM) }
        try await suite.prepare("phone", profile: profile)
        _ = try await suite.send(.PUT, suite.transferPort, Self.file, bytes)
        try await suite.proxy.pause()
        try await upload("http://127.0.0.1:\(suite.proxy.port)/uploads", on: suite)
        try await suite.proxy.trickle(until: "the server has some bytes") {
            try await suite.sql("SELECT count(*) FROM transfer.uploads WHERE received > 0") == "1"
        }
        try await suite.proxy.cutAll()
        suite.proxy.resume()
        let done = try await suite.completed(1)
        #expect(done["error"] == .null && done["response"]?["status"]?.int == 201)
        #expect(done["bytesSent"]?.int == bytes.readableBytes)
        let whole = try await suite.sql("SELECT id FROM transfer.uploads WHERE is_complete")
        let stored = try await suite.send(.GET, suite.transferPort, "/uploads/\(whole)")
        #expect(stored.status == 200 && sha256(stored.body) == sha256(bytes))
        let count = try #require(Int(try await suite.sql("SELECT count(*) FROM transfer.uploads")))
        return (done, try await received(by: suite), count)
    }

    @Test(arguments: ["ios17", "ios18"])
    func `an interrupted upload sends no received byte again`(profile: String) async throws {
        let (done, received, uploads) = try await uploadWithCut(profile: profile)
        #expect(done.ends == ["connectionLost", "finished"])
        #expect(done["attempts"]?[1]?["from"]?.int ?? 0 > 0)
        #expect(received == 20 << 20, "each byte arrives once")
        #expect(uploads == 1)
    }

    @Test func `an interrupted upload begins anew before iOS 17`() async throws {
        let (done, received, uploads) = try await uploadWithCut(profile: "ios16")
        #expect(done.ends == ["connectionLost", "finished"])
        #expect(done["attempts"]?[1]?["from"]?.int == 0)
        #expect(received > 20 << 20)
        #expect(uploads == 2)
    }

    @Test func `a task resumes an upload from resume data`() async throws {
        let bytes = noise(8 << 20, seed: 18)
        let (suite, transfer) = try await TransferSuite.start()
        defer { transfer.signal(SIGTERM) }
        try await suite.prepare("phone")
        _ = try await suite.send(.PUT, suite.transferPort, Self.file, bytes)
        try await suite.proxy.pause()
        try await upload("http://127.0.0.1:\(suite.proxy.port)/uploads", on: suite)
        try await suite.proxy.trickle(until: "the server has some bytes") {
            try await suite.sql("SELECT count(*) FROM transfer.uploads WHERE received > 0") == "1"
        }
        let session = Downloads.session("phone")
        let cancelled = try await suite.call(
            .POST, suite.transferPort, session + "/tasks/1/cancel-by-producing-resume-data")
        let data = try #require(cancelled.json["error"]?["resumeData"]?.string)
        // The resume data keeps the bytes, also if the app removes its file.
        try await suite.call(.DELETE, suite.transferPort, Self.file)
        suite.proxy.resume()
        try await suite.call(
            .POST, suite.transferPort, session + "/uploads", #"{"resume":true,"resumeData":"\#(data)"}"#)
        let done = try await suite.completed(2)
        #expect(done["error"] == .null && done["bytesSent"]?.int == bytes.readableBytes)
        #expect(try await received(by: suite) == bytes.readableBytes)
        #expect(try await suite.sql("SELECT count(*) FROM transfer.uploads WHERE is_complete") == "1")
    }

    // MARK: Requests on the wire

    /// An interim response with the resource `/u`. The connection is cut after it.
    private static func created(_ version: String, at url: String = "/u") -> String {
        "HTTP/1.1 104 Upload Resumption Supported\r\nUpload-Draft-Interop-Version: \(version)\r\nLocation: \(url)\r\n\r\n"
            + CannedServer.close
    }

    private func run(
        _ script: [String: [String]], profile: String = "ios18", headers: String = "{}",
        _ body: (_ done: JSON, _ first: [CannedRequest], _ later: [CannedRequest]) throws -> Void
    ) async throws {
        let server = try await ScriptedServer.start(script)
        let (suite, transfer) = try await TransferSuite.start(origins: [server.origin])
        defer { transfer.signal(SIGTERM) }
        try await suite.prepare("phone", profile: profile)
        _ = try await suite.send(
            .PUT, suite.transferPort, Self.file, headers: ["Content-Type": "video/mp4"], ByteBuffer(string: Self.text))
        try await upload(server.url("/"), headers: headers, on: suite)
        let done = try await suite.completed(1)
        try body(done, server.requests("/"), server.requests("/u"))
    }

    @Test(arguments: [("ios17", "3"), ("ios18", "6")])
    func `an upload asks for the offset and appends the rest`(profile: String, version: String) async throws {
        let isOld = version == "3"
        let complete = isOld ? "Upload-Incomplete: ?0" : "Upload-Complete: ?1"
        let script = [
            "/": [Self.created(version)],
            "/u": [
                status(204, "Upload-Offset: 4", isOld ? "Upload-Incomplete: ?1" : "Upload-Complete: ?0"),
                answer(200, [complete], "thanks"),
            ],
        ]
        try await run(script, profile: profile, headers: #"{"Authorization":"Bearer secret","X-Own":"1"}"#) {
            done, first, later in
            #expect(done["error"] == .null && done["response"]?["status"]?.int == 200)
            #expect(done.ends == ["connectionLost", "finished"])
            #expect(done["attempts"]?[1]?["from"]?.int == 4 && done["attempts"]?[1]?["to"]?.int == 10)
            let parts = complete.components(separatedBy: ": ")
            try #require(first.count == 1 && later.count == 2)
            #expect(first[0].method == "POST" && first[0].headers[parts[0]] == [parts[1]])
            #expect(String(buffer: first[0].body) == Self.text)
            #expect(later[0].method == "HEAD" && later[0].headers["Upload-Offset"] == [])
            #expect(later[0].headers["Content-Type"] == [] && later[0].headers[parts[0]] == [])
            #expect(later[1].method == "PATCH" && later[1].headers["Upload-Offset"] == ["4"])
            #expect(later[1].headers[parts[0]] == [parts[1]] && String(buffer: later[1].body) == "456789")
            #expect(later[1].headers["Content-Type"] == (isOld ? [] : ["application/partial-upload"]))
            for request in first + later {
                #expect(request.headers["Upload-Draft-Interop-Version"] == [version])
                #expect(request.headers["Authorization"] == ["Bearer secret"] && request.headers["X-Own"] == ["1"])
                #expect(request.headers["Dormouse-Request"] == [])
            }
        }
    }

    /// The server has the whole upload, but its response is lost.
    @Test func `a complete upload is not sent again`() async throws {
        let script = ["/": [Self.created("6")], "/u": [status(204, "Upload-Offset: 10", "Upload-Complete: ?1")]]
        try await run(script) { done, first, later in
            #expect(done["error"] == .null && done["response"]?["status"]?.int == 204)
            #expect(done["bytesSent"]?.int == 10)
            #expect(first.count == 1 && later.map(\.method) == ["HEAD"])
        }
    }

    @Test func `an upload begins anew if its server has lost it`() async throws {
        let script = ["/": [Self.created("6"), answer(201, [], "there")], "/u": [status(404)]]
        try await run(script) { done, first, later in
            #expect(done["error"] == .null && done["response"]?["status"]?.int == 201)
            #expect(done.ends == ["connectionLost", "resourceChanged", "finished"])
            #expect(first.map { String(buffer: $0.body) } == [Self.text, Self.text])
            #expect(later.map(\.method) == ["HEAD"])
        }
    }

    @Test func `an upload waits for a server that is not ready`() async throws {
        let offset = status(204, "Upload-Offset: 4", "Upload-Complete: ?0")
        let script = [
            "/": [Self.created("6")],
            "/u": [
                status(503), offset, status(409, "Upload-Offset: 7", "Upload-Complete: ?0"),
                status(204, "Upload-Offset: 7", "Upload-Complete: ?0"), answer(201, ["Upload-Complete: ?1"], ""),
            ],
        ]
        try await run(script) { done, first, later in
            #expect(done["error"] == .null && done["response"]?["status"]?.int == 201)
            #expect(done.ends == ["connectionLost", "uploadNotReady", "uploadNotReady", "finished"])
            #expect(later.map(\.method) == ["HEAD", "HEAD", "PATCH", "HEAD", "PATCH"])
            #expect(later.last.map { String(buffer: $0.body) } == "789" && first.count == 1)
        }
    }

    @Test func `an error in response to the whole upload is its result`() async throws {
        let script = [
            "/": [Self.created("6")],
            "/u": [
                status(204, "Upload-Offset: 4", "Upload-Complete: ?0"), answer(422, ["Upload-Complete: ?1"], "no"),
            ],
        ]
        try await run(script) { done, _, _ in
            #expect(done["error"] == .null && done["response"]?["status"]?.int == 422)
            #expect(done.ends == ["connectionLost", "finished"])
        }
    }

    /// An origin outside `ALLOWED_ORIGINS`, another version, and a protocol of the app.
    @Test(arguments: [
        (created("6", at: "http://169.254.1.1/u"), "{}"), (created("5"), "{}"),
        (created("6"), #"{"Tus-Resumable":"1.0.0"}"#),
    ])
    func `an upload without a usable resource begins anew`(first: String, headers: String) async throws {
        try await run(["/": [first, answer(201, [], "there")]], headers: headers) { done, first, later in
            #expect(done["error"] == .null && done.ends == ["connectionLost", "finished"])
            #expect(first.map { String(buffer: $0.body) } == [Self.text, Self.text] && later.isEmpty)
        }
    }

    @Test func `credentials are not sent to the resource of another origin`() async throws {
        let other = try await ScriptedServer.start([
            "/u": [status(204, "Upload-Offset: 4", "Upload-Complete: ?0"), answer(201, ["Upload-Complete: ?1"], "")]
        ])
        let server = try await ScriptedServer.start(["/": [Self.created("6", at: other.url("/u"))]])
        let (suite, transfer) = try await TransferSuite.start(origins: [server.origin, other.origin])
        defer { transfer.signal(SIGTERM) }
        try await suite.prepare("phone")
        _ = try await suite.send(.PUT, suite.transferPort, Self.file, ByteBuffer(string: Self.text))
        try await upload(server.url("/"), headers: #"{"Authorization":"Bearer secret"}"#, on: suite)
        let done = try await suite.completed(1)
        #expect(done["error"] == .null)
        #expect(server.requests("/").map { $0.headers["Authorization"] } == [["Bearer secret"]])
        #expect(other.requests("/u").map { $0.headers["Authorization"] } == [[], []])
    }
}
