import Contracts
import Foundation
import NIOCore
import NIOHTTP1
import Records
import TestSupport
import Testing
import TransferCore

/// Kills, stops and disconnects processes while bytes move.
@Suite(.tags(.database, .processes), .serialized) struct TransferFaults {
    @Test func `two hundred downloads complete although their service is killed twice`() async throws {
        let origin = try await ContentOrigin.start()
        defer { origin.process.signal(SIGTERM) }
        let seed = UInt64.random(in: 0...UInt64.max)
        var random = SplitMix64(seed: seed)
        let sizes = (0..<200).map { _ in Int.random(in: 0...2 << 20, using: &random) }
        let files = try await origin.put(sizes, seed: seed)
        let rations = (0..<400).map { _ in Int.random(in: 1 << 19...3 << 19, using: &random) }
        try await RationedProxy.with(to: origin.port, rations: rations, then: .slow) { proxy in
            let (suite, first) = try await TransferSuite.start(origins: ["http://127.0.0.1:\(proxy.port)"])
            var transfer = first
            let downloads = try await Downloads.begin(files, from: proxy.port, on: suite, devices: 50)
            var told: [[String: [Int: Int]]] = []
            for kills in 0...1 {
                try await eventually(within: 60, describe: "some downloads have reported bytes, seed \(seed)") {
                    guard proxy.spent.count >= 20 * kills + 60 else { return false }
                    // The second time, only downloads that lost an attempt to the first kill count.
                    let moving = try await downloads.states().values.joined().filter {
                        $0.attempt != nil && $0.attempts.count > kills
                    }
                    return moving.count { $0.bytesReceived > $0.attempt?.from ?? 0 } >= 5
                }
                transfer.signal(SIGKILL)
                _ = try await transfer.exit()
                try await Backends.leave(of: "transfer", in: suite.url)
                told.append(try await downloads.areStored())
                try await suite.expireLeases()
                transfer = try await suite.startTransfer()
            }
            defer { transfer.signal(SIGTERM) }
            proxy.release()
            try await downloads.completed()
            let attempts = try await downloads.areWhole("seed \(seed)")

            let ends = attempts.joined().compactMap { $0["end"]?.string }
            #expect(Set(ends) == ["workerLost", "finished"], "seed \(seed)")
            #expect(attempts.contains { $0.count == 3 }, "one download met both kills, seed \(seed)")
            try await goOnFromWhatWasTold(told, downloads)
        }
    }

    /// Checks that no byte that was reported before a kill is fetched again.
    private func goOnFromWhatWasTold(_ told: [[String: [Int: Int]]], _ downloads: Downloads) async throws {
        for device in downloads.devices {
            for task in try await downloads.tasks(of: device) {
                let number = try #require(task["task"]?.int)
                let lost = (task["attempts"]?.items ?? []).filter { $0["end"]?.string == "workerLost" }
                // Downloads that waited for a connection had no attempt to lose.
                let tellings = told.compactMap { $0[device]?[number] }
                #expect(lost.count <= tellings.count)
                for attempt in lost { #expect(tellings.contains(attempt["to"]?.int ?? -1)) }
            }
        }
    }

    @Test func `downloads resume by range after their origin was killed`() async throws {
        let origin = try await ContentOrigin.start()
        // More bytes than fit into socket buffers, whose content arrives even from a killed process.
        let sizes = [0, 1, 300_000] + (1...9).map { (6 << 20) + $0 }
        let files = try await origin.put(sizes, seed: 5)
        let rations = Array(repeating: 400_000, count: files.count)
        try await RationedProxy.with(to: origin.port, rations: rations, then: .slow) { proxy in
            let (suite, transfer) = try await TransferSuite.start(origins: ["http://127.0.0.1:\(proxy.port)"])
            defer { transfer.signal(SIGTERM) }
            let downloads = try await Downloads.begin(files, from: proxy.port, on: suite, devices: 3)
            try await proxy.spent.reaches(9)
            for device in downloads.devices {
                try await eventually(describe: "the small download of \(device) is completed") {
                    try await downloads.tasks(of: device).first?["state"]?.string == "completed"
                }
            }
            origin.process.signal(SIGKILL)
            _ = try await origin.process.exit()
            proxy.release()
            let next = try await origin.restarted()
            defer { next.process.signal(SIGTERM) }
            try await downloads.completed()
            let attempts = try await downloads.areWhole()

            let cut = attempts.filter { $0.first?["end"]?.string != "finished" }
            #expect(cut.count == 9)
            for attempts in cut {
                let vain = attempts.dropLast().map { $0["end"]?.string }
                #expect(vain.allSatisfy { ["connectionLost", "cannotConnect"].contains($0) })
                #expect(attempts.last?["from"]?.int ?? 0 > 0)
            }
        }
    }

    @Test func `uploads of a killed process are sent again`() async throws {
        let origin = try await ContentOrigin.start()
        defer { origin.process.signal(SIGTERM) }
        let bodies = try (0..<20).map { try keystream(($0 % 5) << 19, seed: UInt64($0)) }
        let rations = Array(repeating: 300_000, count: bodies.count)
        try await RationedProxy.with(to: origin.port, rations: rations, .toServer, then: .slow) { proxy in
            let (suite, first) = try await TransferSuite.start(origins: ["http://127.0.0.1:\(proxy.port)"])
            try await inParallel(Array(bodies.indices)) { index in
                let device = "phone-\(index)"
                try await suite.prepare(device)
                let file = "/v1/devices/\(device)/apps/app/files/body"
                let put = try await suite.send(.PUT, suite.transferPort, file, bodies[index])
                try #require(put.status == 201)
                let url = "http://127.0.0.1:\(proxy.port)/content/sent-\(index)"
                try await suite.call(
                    .POST, suite.transferPort, Downloads.session(device) + "/uploads",
                    #"{"resume":true,"url":"\#(url)","method":"PUT","file":"body"}"#)
            }
            // All uploads except the empty ones.
            try await proxy.spent.reaches(16)
            first.signal(SIGKILL)
            _ = try await first.exit()
            try await Backends.leave(of: "transfer", in: suite.url)
            try await suite.expireLeases()
            let next = try await suite.startTransfer()
            defer { next.signal(SIGTERM) }
            proxy.release()
            for (index, body) in bodies.enumerated() {
                let task = Downloads.session("phone-\(index)") + "/tasks/1"
                try await eventually(within: 60, describe: "upload \(index) is completed") {
                    try await suite.call(.GET, suite.transferPort, task).json["state"]?.string == "completed"
                }
                let document = try await suite.call(.GET, suite.transferPort, task).json
                #expect(document["error"] == .null && document["bytesSent"]?.int == body.readableBytes)
                let ends = document["attempts"]?.items?.compactMap { $0["end"]?.string } ?? []
                // An empty upload may have finished before the kill.
                let wasLost = body.readableBytes > 0 || ends.count > 1
                #expect(ends == (wasLost ? ["workerLost", "finished"] : ["finished"]))
                let arrived = try await suite.send(.GET, origin.port, "/content/sent-\(index)")
                #expect(sha256(arrived.body) == sha256(body))
            }
        }
    }

    @Test func `a stopped worker damages nothing when it continues`() async throws {
        let origin = try await ContentOrigin.start()
        defer { origin.process.signal(SIGTERM) }
        let files = try await origin.put([20 << 20], seed: 6)
        let proxy = try await TCPProxy.start(port: origin.port)
        let (suite, sleeper) = try await TransferSuite.start(origins: ["http://127.0.0.1:\(proxy.port)"])
        defer { sleeper.signal(SIGTERM) }
        try await proxy.pause()
        let downloads = try await Downloads.begin(files, from: proxy.port, on: suite, devices: 1)
        try await proxy.trickle(until: "some bytes are reported") {
            try await downloads.states()["phone-0"]?.first?.bytesReceived ?? 0 >= 2 << 20
        }
        let rivalPort = try freePort()
        let rival = try await suite.startTransfer(port: rivalPort)
        defer { rival.signal(SIGTERM) }
        let worker = try #require(try await downloads.states()["phone-0"]?.first?.attempt?.worker)
        sleeper.signal(SIGSTOP)
        try await Backends.rest(in: suite.url)
        let stopped = try #require(try await downloads.states()["phone-0"]?.first)
        try await suite.expireLeases(of: worker)
        proxy.resume()
        let task = Downloads.session("phone-0") + "/tasks/1"
        try await eventually(within: 60, describe: "the other worker has finished the task") {
            try await suite.call(.GET, rivalPort, task).json["state"]?.string == "completed"
        }
        let finished = try await suite.call(.GET, rivalPort, task).json
        try await eventually(describe: "only the stopped worker has a connection") { proxy.connections == 1 }
        let pieces = try #require(try await downloads.states()["phone-0"]?.first).pieces
        let known = try pieces.map { try suite.stored($0) }

        sleeper.signal(SIGCONT)
        try await eventually(within: 60, describe: "it has dropped its attempt") { proxy.connections == 0 }
        #expect(try await suite.call(.GET, suite.transferPort, task).json == finished)
        #expect(try pieces.map { try suite.stored($0) } == known)
        try await downloads.areWhole()
        let ends = finished["attempts"]?.items?.compactMap { $0["end"]?.string }
        #expect(ends == ["workerLost", "finished"])
        #expect(pieces.map(\.length).first == stopped.bytesReceived)
        // The continued worker carries out the next task, now that the other one has stopped.
        rival.signal(SIGTERM)
        _ = try await rival.exit()
        try await downloads.add(files[0], to: "phone-0", from: proxy.port)
        try await downloads.completed()
    }

    @Test func `downloads survive random disconnections`() async throws {
        let origin = try await ContentOrigin.start()
        defer { origin.process.signal(SIGTERM) }
        let seed = UInt64.random(in: 0...UInt64.max)
        var random = SplitMix64(seed: seed)
        let sizes = (0..<4).flatMap { _ in [0, 1, (1 << 20) - 1, 1 << 20, (1 << 20) + 1] }
        let files = try await origin.put(sizes, seed: seed)
        // Some cuts are within the head of a response or after the last byte of a small one.
        let rations = (0..<30).map { index in
            Int.random(in: index.isMultiple(of: 3) ? 0...400 : 0...1 << 20, using: &random)
        }
        try await RationedProxy.with(to: origin.port, rations: rations) { proxy in
            let (suite, transfer) = try await TransferSuite.start(origins: ["http://127.0.0.1:\(proxy.port)"])
            defer { transfer.signal(SIGTERM) }
            let downloads = try await Downloads.begin(files, from: proxy.port, on: suite, devices: 4)
            try await downloads.completed()
            let attempts = try await downloads.areWhole("seed \(seed)")
            let cut = attempts.joined().filter { $0["end"]?.string == "connectionLost" }
            #expect(cut.contains { $0["to"]?.int ?? 0 > 0 }, "some are cut in the middle, seed \(seed)")
        }
    }
}

extension TransferSuite {
    /// Expires the lease of one worker or of all workers now instead of after ten seconds.
    func expireLeases(of worker: String? = nil) async throws {
        try await cluster.sql(
            "UPDATE transfer.workers SET expires_at = now() - interval '1 second'"
                + (worker.map { " WHERE worker = '\($0)'" } ?? ""),
            database: database)
    }

    /// Returns the valid bytes of a piece.
    func stored(_ piece: StoredPiece) throws -> Data {
        try Data(contentsOf: directory.appendingPathComponent("segments/\(piece.name)")).prefix(piece.length)
    }
}
