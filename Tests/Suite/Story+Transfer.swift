import AsyncHTTPClient
import Crypto
import Foundation
import NIOCore
import NIOHTTP1
import Records
import TestSupport
import Testing

extension Story {
    private static let session = "/sessions/films"
    private static let size = 20 << 20

    /// The handler of a wake starts a download. The app is suspended, then killed for memory. The download continues,
    /// is interrupted, resumes with a range request, and relaunches the app.
    func download(during wake: Wake) async throws {
        let film = try await placeContent()
        try await suite.proxy.pause()
        try await startDownload()
        try await complete(wake, "newData")
        try await order("suspend", "suspend")
        try await conditions(["memoryPressure": "warning"])
        let end = try await orders.take("the end of the app")
        #expect(end["type"]?.string == "terminate")
        #expect(end["data"]?["callbacks"]?.items ?? [] == [], "a suspended app gets no callback")
        try await conditions(["memoryPressure": "normal"])

        // Bytes move in real time; the delay after a failed attempt is in suite time.
        try await suite.call(.PUT, .ops, "/v1/clock", ["frozen": false])
        try await trickle(until: 1 << 20)
        #expect(try await state == "notRunning")
        try await suite.proxy.cutAll()
        suite.proxy.resume()

        // A terminated app gets no progress; it is relaunched when the download is complete.
        let wake = try await self.wake("transfer", launchCallbacks + ["handleEventsForBackgroundURLSession"])
        try await suite.call(.PUT, .ops, "/v1/clock", ["frozen": true])
        try await attachAndFinish(wake)
        try await lookAtTheFile(film)
    }

    private func placeContent() async throws -> ByteBuffer {
        var random = SplitMix64(seed: 7)
        var noise = ByteBuffer()
        for _ in 1..<1 << 13 { noise.writeInteger(random.next()) }
        // Blocks of 64 KiB that differ in their first bytes. A debug build needs ten seconds to draw all bytes at random.
        var bytes = ByteBuffer()
        for number in 0..<Self.size >> 16 {
            bytes.writeInteger(number)
            bytes.writeImmutableBuffer(noise)
        }
        var request = suite.request(.PUT, .transfer, "/content/film")
        request.body = .bytes(bytes)
        #expect(try await suite.send(request).status == 201)
        return bytes
    }

    private func startDownload() async throws {
        // The order shows that the app runs, but `transfer` may not have read this event yet.
        try await suite.waitUntilAllIsTakenIn()
        try await app(.PUT, .transfer, Self.session, ["sessionSendsLaunchEvents": true])
        let task = try await app(
            .POST, .transfer, Self.session + "/downloads",
            ["url": .string("http://127.0.0.1:\(suite.proxy.port)/content/film"), "resume": true])
        #expect(task.status == 201)
        #expect(task.json["task"]?.int == 1)
        #expect(task.json["isDiscretionary"]?.bool == true, "the task was started in the background")
    }

    /// Lets bytes pass slowly until `count` are on disk, then stops them.
    private func trickle(until count: Int) async throws {
        try await TestSupport.eventually(within: 90, describe: "\(count) bytes are on disk") { [suite] in
            try await suite.proxy.letSomeThrough(bytes: 64 << 10)
            return suite.bytesOnDisk >= count
        }
    }

    /// The relaunched app creates its session again, gets the events, and completes them.
    private func attachAndFinish(_ wake: Wake) async throws {
        try await suite.waitUntilAllIsTakenIn()
        let session = try await app(.PUT, .transfer, Self.session, [:]).json
        #expect(session["isAttached"]?.bool == true)
        #expect(session["tasks"]?[0]?["state"]?.string == "completed")
        let finished = try await order("callback", "didFinishDownloadingTo", ["didFinishDownloadingTo"])
        #expect(finished["data"]?["task"]?.int == 1 && finished["deadline"]?.string != nil)
        let claimed = try await app(.POST, .transfer, Self.session + "/tasks/1/claim", ["name": "film"])
        #expect(claimed.json["claimedAs"]?.string == "film")
        #expect(try await eventually("transfer.events.delivered")["data"]?["tasks"]?.items == [1])
        try await order(
            "callback", "urlSessionDidFinishEvents", ["didCompleteWithError", "urlSessionDidFinishEvents"])
        try await complete(wake, nil)
        try await order("suspend", "suspend")
        #expect(try await eventually("transfer.wake.ended")["data"]?["outcome"]?.string == "completed")
        #expect(try await state == "suspended")
    }

    private func lookAtTheFile(_ film: ByteBuffer) async throws {
        let task = try await app(.GET, .transfer, Self.session + "/tasks/1").json
        let hash = SHA256.hash(data: Data(film.readableBytesView)).map { String(format: "%02x", $0) }.joined()
        #expect(task["sha256"]?.string == hash)
        #expect(task["bytesReceived"]?.int == Self.size)
        let attempts = task["attempts"]?.items ?? []
        // On a slow machine, an attempt may fail before its first byte. The next attempt begins at the same offset.
        #expect(attempts.count >= 2 && attempts.last?["end"]?.string == "finished")
        #expect(attempts.dropLast().allSatisfy { $0["end"]?.string == "connectionLost" })
        #expect(attempts.dropFirst().map { $0["from"]?.int } == attempts.dropLast().map { $0["to"]?.int })
        let cut = try #require(attempts.last?["from"]?.int)
        #expect((1..<Self.size).contains(cut))
        let answers = try await events("transfer.response.received").compactMap { $0["data"] }
        #expect(answers.map { $0["response"]?["status"]?.int } == [200, 206])
        #expect(answers.map { $0["from"]?.int } == [0, cut])
        #expect(try await app(.GET, .transfer, Self.session + "/tasks/1/file").body == film)
        #expect(try await app(.GET, .transfer, "/files/film").body == film, "the file belongs to the app")
    }
}
