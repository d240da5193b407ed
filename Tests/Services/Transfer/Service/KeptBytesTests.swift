import Contracts
import Foundation
import Logging
import NIOCore
import NIOHTTP1
import Postgres
import Records
import TestSupport
import Testing
import TransferCore

@testable import TransferService

/// Bytes that are still needed are not swept, and bytes are reported only when they are durable.
@Suite(.tags(.database, .processes), .serialized) struct KeptBytes {
    private static let bytes = noise(20 << 20, seed: 12)
    private static let sha256 = TransferServiceTests.sha256(bytes)

    private func run(_ body: (TransferSuite) async throws -> Void) async throws {
        let (suite, transfer) = try await TransferSuite.start()
        defer { transfer.signal(SIGTERM) }
        _ = try await suite.send(.PUT, suite.transferPort, "/content/big", Self.bytes)
        try await suite.prepare("phone")
        try await body(suite)
    }

    private func sweep(_ suite: TransferSuite) async throws {
        let logger = Logger(label: "sweep")
        let options = try ConnectionOptions(url: suite.cluster.url(database: suite.database))
        let pool = ConnectionPool(options, size: 1, logger: logger)
        let states = FileReferences(store: TransferStore(pool: pool, partitions: 16))
        let sweep = StorageSweep(
            storage: try DirectoryStorage(suite.directory.path), folder: .segments, age: .zero, logger: logger
        ) { try await states.pieces(of: $0) }
        try await sweep.sweep()
        await pool.close()
    }

    /// Two unreported downloads, a suspended one, a moving one, and resume data need their files.
    @Test func `a sweep keeps the files of unreported, unfinished and resumable downloads`() async throws {
        try await run { suite in
            let (port, session) = (suite.transferPort, Downloads.session("phone"))
            _ = try await suite.send(.PUT, port, "/content/film", ByteBuffer(string: "film"))
            // With the clock stopped, callbacks do not return by timeout.
            try await suite.freezeClock()
            for task in 1...2 {
                try await suite.download("http://127.0.0.1:\(suite.proxy.port)/content/film")
                try await suite.completed(task)
            }
            try await suite.proxy.pause()
            try await suite.downloadSome(of: "big")
            try await suite.call(.POST, port, session + "/tasks/3/suspend")
            try await suite.downloadSome(of: "big")
            let cancelled = try await suite.call(.POST, port, session + "/tasks/4/cancel-by-producing-resume-data")
            let data = try #require(cancelled.json["error"]?["resumeData"]?.string)
            try await suite.downloadSome(of: "big")
            try await eventually(describe: "one download moves") { suite.proxy.connections == 1 }
            let kept = try suite.files(in: "segments")
            #expect(kept.count == 5)
            try Data("left".utf8).write(to: suite.directory.appendingPathComponent("segments/orphan-1"))
            try await sweep(suite)
            #expect(try suite.files(in: "segments") == kept)

            for task in 1...2 {
                let file = try await suite.send(.GET, port, session + "/tasks/\(task)/file")
                #expect(String(buffer: file.body) == "film")
            }
            try await suite.call(.POST, port, session + "/tasks/3/resume")
            try await suite.call(.POST, port, session + "/downloads", #"{"resume":true,"resumeData":"\#(data)"}"#)
            suite.proxy.resume()
            for (task, ends) in [(3, ["suspended", "finished"]), (5, ["finished"]), (6, ["finished"])] {
                let done = try await suite.completed(task)
                #expect(done.ends == ends && done["sha256"]?.string == Self.sha256, "task \(task)")
                #expect(task == 5 || done["attempts"]?.items?.last?["from"]?.int ?? 0 > 0, "task \(task)")
            }
        }
    }

    /// `/dev/full` has no space. `/dev/null` accepts all bytes but refuses fdatasync.
    @Test(arguments: ["/dev/full", "/dev/null"])
    func `bytes are not reported before they are durable`(device: String) async throws {
        try await run { suite in
            try await suite.strandNetwork(true)
            try await suite.proxy.pause()
            try await suite.download("http://127.0.0.1:\(suite.proxy.port)/content/big")
            let downloads = Downloads(suite: suite, devices: ["phone"], files: [:])
            let task = try #require(try await downloads.states()["phone"]?.first)
            let name = task.storedPiece(Segment(epoch: 1, length: 0)).name
            try FileManager.default.createSymbolicLink(
                atPath: suite.directory.appendingPathComponent("segments/\(name)").path, withDestinationPath: device)
            try await suite.strandNetwork(false)
            // The rest of the file has not arrived yet.
            try await suite.proxy.trickle(until: "the attempt has failed") {
                try await suite.task(1)["state"]?.string == "completed"
            }
            let done = try await suite.task(1)
            #expect(done.ends == ["cannotWrite"] && done["error"]?["code"]?.int == -3003)
            #expect(done["bytesReceived"]?.int == 0)
            #expect(try await !suite.events("phone").contains("transfer.progress.made"))
        }
    }
}

extension TransferSuite {
    /// Takes the phone's network away or restores it, and waits until `transfer` knows it.
    fileprivate func strandNetwork(_ isLost: Bool) async throws {
        let changed = try await call(
            .PATCH, lifecyclePort, "/v1/devices/phone/conditions",
            #"{"network":{"kind":"\#(isLost ? "none" : "wifi")"}}"#)
        try await call(.GET, transferPort, Downloads.session("phone"), position: changed["Dormouse-Position"])
    }
}
