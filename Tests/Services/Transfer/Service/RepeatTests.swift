import Foundation
import NIOCore
import NIOHTTP1
import Records
import TestSupport
import Testing

/// Repeated requests, as from a client that did not receive the response.
@Suite(.tags(.database, .processes), .serialized) struct Repeats {
    private static let session = Downloads.session("phone")
    private static let files = "/v1/devices/phone/apps/app/files"

    /// Runs with a paused network, so that no task moves.
    private func run(_ body: (TransferSuite) async throws -> Void) async throws {
        let (suite, transfer) = try await TransferSuite.start()
        defer { transfer.signal(SIGTERM) }
        try await suite.prepare("phone")
        try await suite.proxy.pause()
        try await body(suite)
    }

    private func post(_ path: String, _ document: String, key: String, _ suite: TransferSuite) async throws
        -> HTTPAnswer
    {
        try await suite.send(
            .POST, suite.transferPort, path,
            headers: ["Content-Type": "application/json", "Idempotency-Key": key], ByteBuffer(string: document))
    }

    private func tasks(_ suite: TransferSuite) async throws -> Int? {
        try await suite.call(.GET, suite.transferPort, Self.session).json["tasks"]?.items?.count
    }

    @Test func `a repeated creation makes no second task`() async throws {
        try await run { suite in
            let url = "http://127.0.0.1:\(suite.proxy.port)/content/x"
            _ = try await suite.send(.PUT, suite.transferPort, Self.files + "/film", ByteBuffer(string: "film"))
            let kinds = [
                ("downloads", #"{"resume":true,"url":"\#(url)"}"#, #"{"resume":true,"url":"\#(url)y"}"#),
                (
                    "uploads", #"{"resume":true,"url":"\#(url)","file":"film"}"#,
                    #"{"resume":true,"url":"\#(url)","file":"film","method":"PUT"}"#
                ),
            ]
            for (index, (kind, document, other)) in kinds.enumerated() {
                let path = "\(Self.session)/\(kind)"
                let first = try await post(path, document, key: kind, suite)
                #expect(first.status == 201 && first.json["task"]?.int == index + 1)
                let second = try await post(path, document, key: kind, suite)
                #expect(second.status == 201 && second.body == first.body)
                let conflict = try await post(path, other, key: kind, suite)
                #expect(conflict.status == 422 && conflict.code == "idempotency_conflict")
                #expect(try await tasks(suite) == index + 1)
            }
            let elsewhere = try await post("\(Self.session)/uploads", kinds[1].1, key: "downloads", suite)
            #expect(elsewhere.code == "idempotency_conflict", "a key is valid for one path")
            #expect(try await post("\(Self.session)/uploads", kinds[1].1, key: "new", suite).json["task"]?.int == 3)
        }
    }

    /// The upload may be deleted when the creation of the task is repeated.
    @Test func `a repeated creation gets the same response after its upload was deleted`() async throws {
        try await run { suite in
            let upload = try await suite.upload("film")
            let document =
                #"{"resume":true,"url":"http://127.0.0.1:\#(suite.proxy.port)/content/x","file":"\#(upload)"}"#
            let first = try await post("\(Self.session)/uploads", document, key: "k", suite)
            #expect(first.status == 201)
            let folder = suite.directory.appendingPathComponent("segments").path
            let pieces = try FileManager.default.contentsOfDirectory(atPath: folder)
            #expect(pieces.count == 1)
            let again = try await post("\(Self.session)/uploads", document, key: "k", suite)
            #expect(again.status == 201 && again.body == first.body)
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder) == pieces, "nothing new is stored")
            try await suite.terminate(upload)
            let late = try await post("\(Self.session)/uploads", document, key: "k", suite)
            #expect(late.status == 201 && late.body == first.body)
            #expect(try await tasks(suite) == 1)
        }
    }

    /// The first answer may be lost together with the device, and its secrets with both.
    @Test func `a repeated creation with credentials gets its response after its device was removed`() async throws {
        try await run { suite in
            func document(_ token: String) -> String {
                let url = "http://127.0.0.1:\(suite.proxy.port)/content/x"
                return #"{"resume":true,"url":"\#(url)","headers":{"Authorization":"Bearer \#(token)"}}"#
            }
            let path = "\(Self.session)/downloads"
            let first = try await post(path, document("a"), key: "k", suite)
            #expect(first.status == 201)
            let other = try await post(path, document("b"), key: "k", suite)
            #expect(other.body == first.body, "the fingerprint has no credential")
            try await suite.call(.DELETE, suite.lifecyclePort, "/v1/devices/phone")
            try await eventually(within: 60, describe: "the device is removed") {
                try await suite.events("phone").contains("transfer.device.removed")
            }
            let again = try await post(path, document("a"), key: "k", suite)
            #expect(again.status == 201 && again.body == first.body)
            #expect(try await post(path, document("a"), key: "new", suite).status == 404)
            #expect(try await suite.sql("SELECT count(*) FROM transfer.request_headers") == "0")
        }
    }

    @Test func `a repeated PUT does not replace a newer file`() async throws {
        try await run { suite in
            func put(_ text: String, _ key: String?) async throws -> HTTPAnswer {
                var headers = ["Content-Type": "text/plain"]
                headers["Idempotency-Key"] = key
                return try await suite.send(
                    .PUT, suite.transferPort, Self.files + "/f", headers: headers, ByteBuffer(string: text))
            }
            func content() async throws -> String {
                String(buffer: try await suite.send(.GET, suite.transferPort, Self.files + "/f").body)
            }
            let first = try await put("first", "k")
            #expect(first.status == 201 && first.json["length"]?.int == 5)
            let conflict = try await put("other", "k")
            #expect(conflict.status == 422 && conflict.code == "idempotency_conflict")
            #expect(try await content() == "first")
            #expect(try await put("second", nil).status == 201)
            let again = try await put("first", "k")
            #expect(again.status == 201 && again.body == first.body)
            #expect(try await content() == "second", "a repeat changes nothing")
        }
    }

    @Test func `a repeated completion does not end the next callback`() async throws {
        try await run { suite in
            // A callback returns by itself after 10 s, so the clock must stand still.
            try await suite.freezeClock()
            _ = try await suite.send(.PUT, suite.transferPort, "/content/film", ByteBuffer(string: "film"))
            suite.proxy.resume()
            for task in 1...2 {
                try await suite.download("http://127.0.0.1:\(suite.proxy.port)/content/film")
                try await suite.completed(task)
            }
            func file(_ task: Int) async throws -> Int {
                try await suite.send(.GET, suite.transferPort, "\(Self.session)/tasks/\(task)/file").status
            }
            func complete(_ document: String, _ callback: String = "didFinishDownloadingTo") async throws -> HTTPAnswer
            {
                try await suite.send(
                    .POST, suite.transferPort, "\(Self.session)/callbacks/\(callback)/completion",
                    headers: ["Content-Type": "application/json"], ByteBuffer(string: document))
            }
            #expect(try await (file(1), file(2)) == (200, 200))
            #expect(try await complete(#"{"task":2}"#).status == 204, "task 2 is not in its callback")
            #expect(try await (file(1), file(2)) == (200, 200))
            for _ in 1...3 { #expect(try await complete(#"{"task":1}"#).status == 204) }
            #expect(try await (file(1), file(2)) == (410, 200))
            #expect(try await complete("{}", "urlSessionDidFinishEvents").code == "not_found")
            #expect(try await complete("{}").status == 204)
            #expect(try await (file(1), file(2)) == (410, 410))
            let returned = try await suite.events("phone").count { $0 == "transfer.download.returned" }
            #expect(returned == 2)
        }
    }
}

extension TransferSuite {
    /// Uploads a text by tus and returns the path of the upload.
    func upload(_ text: String) async throws -> String {
        let created = try await send(
            .POST, transferPort, "/files",
            headers: [
                "Tus-Resumable": "1.0.0", "Upload-Length": "\(text.utf8.count)",
                "Content-Type": "application/offset+octet-stream",
            ], ByteBuffer(string: text))
        guard created.status == 201, let path = created.uploadPath else {
            throw Unexpected(description: "\(created.status) \(String(buffer: created.body))")
        }
        return path
    }

    func terminate(_ upload: String) async throws {
        let deleted = try await send(.DELETE, transferPort, upload, headers: ["Tus-Resumable": "1.0.0"])
        #expect(deleted.status == 204)
    }

    /// Stops the time of the suite. Only ``stepClock(by:)`` moves it.
    func freezeClock() async throws { try await setClock("instant") }

    /// Sets the time of the suite to some seconds after ``freezeClock()``.
    func stepClock(by seconds: Int) async throws { try await setClock("virtual_epoch + \(seconds * 1000)") }

    private func setClock(_ moment: String) async throws {
        try await cluster.sql(
            """
            UPDATE bus.clock SET is_virtual = true, real_epoch = instant, virtual_epoch = \(moment), rate = 0
            FROM bus.real_now() AS instant;
            SELECT pg_notify('dormouse', 'clock')
            """, database: database)
    }
}
