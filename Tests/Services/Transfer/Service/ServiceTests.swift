import AsyncHTTPClient
import Contracts
import Crypto
import Foundation
import NIOCore
import NIOHTTP1
import Records
import TestSupport
import Testing

/// `lifecycle` and `transfer` as processes that move bytes.
@Suite(.tags(.database, .processes), .serialized) struct RunningTransfer {
    private static let size = 20 << 20
    private static let bytes = noise(size, seed: 7)
    private static let sha256 = hash(bytes)
    private static let task = "/v1/devices/phone/apps/app/sessions/s/tasks/1"

    private static func hash(_ buffer: ByteBuffer) -> String {
        SHA256.hash(data: Data(buffer.readableBytesView)).map { String(format: "%02x", $0) }.joined()
    }

    @Test func `a cut download resumes by range and wakes its app`() async throws {
        let (suite, transfer) = try await TransferSuite.start()
        defer { transfer.signal(SIGTERM) }
        try await download(suite)
        try await suite.call(.POST, suite.transferPort, Self.task + "/claim", #"{"name":"film"}"#)
        try await suite.trickle(until: 1 << 20)
        try await suite.call(
            .POST, suite.lifecyclePort, "/v1/devices/phone/apps/app/transitions", #"{"event":"home"}"#)
        try await suite.proxy.cutAll()
        suite.proxy.resume()
        let document = try await completed(suite)

        let attempts = document["attempts"]?.items ?? []
        #expect(attempts.map { $0["end"]?.string } == ["connectionLost", "finished"])
        let cut = try #require(attempts.first?["to"]?.int)
        #expect((1..<Self.size).contains(cut))
        #expect(attempts.last?["from"]?.int == cut)
        #expect(document["sha256"]?.string == Self.sha256)
        #expect(document["bytesReceived"]?.int == Self.size)
        let file = try await suite.send(.GET, suite.transferPort, Self.task + "/file")
        #expect(file.status == 200)
        #expect(Self.hash(file.body) == Self.sha256)
        #expect(document["rate"]?.double ?? 0 > 0)
        try await tellsItsTimeline(suite)

        try await eventually(within: 60, describe: "the app was woken for the session's events") {
            try await suite.events("phone").contains("transfer.events.delivered")
        }
        let events = try await suite.events("phone")
        let story = [
            "transfer.task.completed", "transfer.wake.requested", "lifecycle.app.woken", "transfer.wake.begun",
        ]
        #expect(events.filter(story.contains) == story)
        let wake = try await suite.cluster.sql(
            "SELECT data->>'wake' FROM bus.events WHERE type = 'lifecycle.app.woken'", database: suite.database)
        try await suite.call(
            .POST, suite.lifecyclePort,
            "/v1/devices/phone/apps/app/wakes/\(wake.trimmingCharacters(in: .whitespacesAndNewlines))/completion", "{}")
        try await eventually(within: 60, describe: "the wake has ended") {
            try await suite.events("phone").contains("transfer.wake.ended")
        }
        let claimed = try await suite.send(.GET, suite.transferPort, "/v1/devices/phone/apps/app/files/film")
        #expect(Self.hash(claimed.body) == Self.sha256, "the file belongs to the app")
    }

    private func tellsItsTimeline(_ suite: TransferSuite) async throws {
        let path = Self.task + "/timeline?limit=2"
        var (types, cursor): ([String], String?) = ([], "")
        while let next = cursor {
            let page = try await suite.call(.GET, suite.transferPort, path + next).json
            types += (page["items"]?.items ?? []).compactMap { $0["type"]?.string }
            cursor = page["next"]?.string.map { "&cursor=\($0)" }
        }
        #expect(types.last == "transfer.task.created" && types.first != types.last)
        #expect(types.count { $0 == "transfer.attempt.started" } == 2)
        #expect(types.contains("transfer.task.completed"))
    }

    @Test func `a killed worker loses no reported byte`() async throws {
        let (suite, transfer) = try await TransferSuite.start()
        try await download(suite)
        try await suite.trickle(until: 2 << 20)
        transfer.signal(SIGKILL)
        _ = try await transfer.exit()
        suite.proxy.resume()
        let next = try await suite.startTransfer()
        defer { next.signal(SIGTERM) }
        let document = try await completed(suite)
        #expect(document["sha256"]?.string == Self.sha256)
        #expect((document["attempts"]?.items ?? []).map { $0["end"]?.string } == ["workerLost", "finished"])
        let file = try await suite.send(.GET, suite.transferPort, Self.task + "/file")
        #expect(Self.hash(file.body) == Self.sha256)
    }

    @Test func `content supports ranges, preconditions and digests`() async throws {
        let (suite, transfer) = try await TransferSuite.start()
        defer { transfer.signal(SIGTERM) }
        let text = ByteBuffer(string: "0123456789")
        let path = "/content/digits"
        func get(_ headers: [String: String], _ method: HTTPMethod = .GET) async throws -> HTTPAnswer {
            try await suite.send(method, suite.transferPort, path, headers: headers)
        }
        #expect(try await get([:]).status == 404)
        let put = try await suite.send(.PUT, suite.transferPort, path, headers: ["Content-Type": "text/plain"], text)
        #expect(put.status == 201)
        let etag = try #require(put.headers.first(name: "ETag"))

        let whole = try await get(["Want-Repr-Digest": "sha-256=1"])
        #expect(whole.status == 200 && whole.body == text)
        #expect(whole.headers.first(name: "ETag") == etag)
        #expect(whole.headers.first(name: "Accept-Ranges") == "bytes")
        #expect(whole.headers.first(name: "Content-Type") == "text/plain")
        #expect(whole.headers.first(name: "Repr-Digest") == "sha-256=:hNiYd/DUBB77a/kaFvAkjy/Vc+avBcGflr7bn4gveII=:")
        let part = try await get(["Range": "bytes=2-4", "If-Range": etag])
        #expect(part.status == 206 && String(buffer: part.body) == "234")
        #expect(part.headers.first(name: "Content-Range") == "bytes 2-4/10")
        #expect(try await get(["Range": "bytes=2-4", "If-Range": "\"x\""]).status == 200)
        let behind = try await get(["Range": "bytes=10-"])
        #expect(behind.status == 416 && behind.headers.first(name: "Content-Range") == "bytes */10")
        #expect(try await get(["If-None-Match": etag]).status == 304)
        let head = try await get(["Range": "bytes=2-4"], .HEAD)
        #expect(head.status == 200 && head.headers.first(name: "Content-Length") == "10" && head.body == ByteBuffer())
        let several = try await get(["Range": "bytes=0-1,-2"])
        #expect(several.status == 206)
        #expect(several.headers.first(name: "Content-Type")?.hasPrefix("multipart/byteranges; boundary=") == true)
        let body = String(buffer: several.body)
        #expect(body.contains("Content-Range: bytes 0-1/10\r\n\r\n01\r\n--"))
        #expect(body.contains("Content-Range: bytes 8-9/10\r\n\r\n89\r\n--"))

        _ = try await suite.send(.PUT, suite.transferPort, path, ByteBuffer(string: "other"))
        #expect(try await get(["Range": "bytes=2-4", "If-Range": etag]).status == 200)
        let kept = try FileManager.default.contentsOfDirectory(
            atPath: suite.directory.appendingPathComponent("contents").path)
        #expect(kept.count == 1, "the replaced file is removed")

        try await suite.prepare("phone")
        let refused = try await suite.send(
            .POST, suite.transferPort, "/v1/devices/phone/apps/app/sessions/s/downloads",
            headers: ["Content-Type": "application/json"],
            ByteBuffer(string: #"{"resume":true,"url":"http://127.0.0.1:\#(suite.transferPort)/healthz"}"#))
        #expect(refused.status == 422 && refused.json["code"]?.string == "origin_not_allowed")
    }

    /// Puts 20 MB of content and begins to download it through a paused proxy.
    private func download(_ suite: TransferSuite) async throws {
        let put = try await suite.send(.PUT, suite.transferPort, "/content/big", Self.bytes)
        #expect(put.json["sha256"]?.string == Self.sha256)
        try await suite.prepare("phone")
        try await suite.proxy.pause()
        let url = "http://127.0.0.1:\(suite.proxy.port)/content/big"
        let created = try await suite.call(
            .POST, suite.transferPort, "/v1/devices/phone/apps/app/sessions/s/downloads",
            #"{"resume":true,"url":"\#(url)"}"#)
        #expect(created.status == 201 && created.json["task"]?.int == 1 && created.json["state"]?.string == "running")
    }

    private func completed(_ suite: TransferSuite) async throws -> JSON {
        try await eventually(within: 90, describe: "the task has finished") {
            try await suite.call(.GET, suite.transferPort, Self.task).json["state"]?.string == "completed"
        }
        return try await suite.call(.GET, suite.transferPort, Self.task).json
    }
}
