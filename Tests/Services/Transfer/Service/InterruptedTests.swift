import Foundation
import NIOCore
import NIOHTTP1
import Records
import TestSupport
import Testing

/// Interrupted transfers. The worker closes the connection at once, although no byte arrives that would wake it.
@Suite(.tags(.database, .processes), .serialized) struct InterruptedTransfers {
    private static let bytes = noise(20 << 20, seed: 11)
    private static let sha256 = TransferServiceTests.sha256(bytes)

    /// The cause of an interruption.
    enum Cause: CaseIterable {
        case networkLost, poweredOff, suspended, cancelled, sessionInvalidated, forceQuit, uninstalled

        /// The end of the attempt; nil if the attempt is removed with its app.
        var end: String? {
            switch self {
            case .networkLost, .poweredOff: "conditionsLost"
            case .suspended: "suspended"
            case .cancelled, .sessionInvalidated, .forceQuit: "cancelled"
            case .uninstalled: nil
            }
        }

        /// Whether the transfer can continue.
        var isPause: Bool { [.networkLost, .poweredOff, .suspended].contains(self) }
    }

    /// Runs with a large file behind a paused proxy.
    private func run(_ body: (TransferSuite) async throws -> Void) async throws {
        let (suite, transfer) = try await TransferSuite.start()
        defer { transfer.signal(SIGTERM) }
        _ = try await suite.send(.PUT, suite.transferPort, "/content/big", Self.bytes)
        try await suite.proxy.pause()
        try await body(suite)
    }

    @Test func `an interrupted transfer loses its connection at once`() async throws {
        try await run { suite in
            for cause in Cause.allCases {
                let device = "\(cause)"
                // The timeout of an hour cannot end the attempt.
                try await suite.prepare(device, #"{"timeoutIntervalForRequest":3600}"#)
                try await suite.downloadSome(of: "big", on: device)
                #expect(suite.proxy.connections == 1)
                try await suite.strike(device, cause)
                try await eventually(describe: "\(cause): the connection is closed") {
                    suite.proxy.connections == 0
                }
                let ends = try await suite.sql(
                    "SELECT data->>'end' FROM bus.events WHERE key = 'device:\(device)' AND type LIKE '%attempt.ended'")
                #expect(ends == cause.end ?? "", "\(cause)")
                guard cause.isPause else { continue }
                suite.proxy.resume()
                try await suite.heal(device, cause)
                let done = try await suite.completed(1, of: device)
                let attempts = done["attempts"]?.items ?? []
                #expect(done.ends == [cause.end, "finished"])
                #expect(attempts.last?["from"]?.int ?? 0 > 0, "\(cause): it resumes by range")
                #expect(attempts.last?["from"] == attempts.first?["to"], "\(cause)")
                #expect(done["sha256"]?.string == Self.sha256 && done["bytesReceived"]?.int == 20 << 20, "\(cause)")
                try await suite.proxy.pause()
            }
        }
    }

    /// The stored bytes are lost, so the attempt fetches the whole file.
    @Test func `a download restarts if its stored bytes are lost`() async throws {
        try await run { suite in
            try await suite.prepare("phone")
            try await suite.downloadSome(of: "big")
            try await suite.claim(1)
            try await suite.strike("phone", .suspended)
            try await eventually(describe: "the connection is closed") { suite.proxy.connections == 0 }
            let pieces = try suite.files(in: "segments")
            #expect(pieces.count == 1)
            for piece in pieces {
                try FileManager.default.removeItem(at: suite.directory.appendingPathComponent("segments/\(piece)"))
            }
            suite.proxy.resume()
            try await suite.heal("phone", .suspended)
            let done = try await suite.completed(1)
            #expect(done.ends == ["suspended", "resourceChanged", "finished"])
            #expect(done["attempts"]?.items?.last?["from"]?.int == 0)
            #expect(done["error"] == .null && done["sha256"]?.string == Self.sha256)
            let file = try await suite.send(.GET, suite.transferPort, Downloads.session("phone") + "/tasks/1/file")
            #expect(TransferServiceTests.sha256(file.body) == Self.sha256)
        }
    }

    @Test func `resume data can be used once`() async throws {
        try await run { suite in
            try await suite.prepare("phone")
            try await suite.downloadSome(of: "big")
            let session = Downloads.session("phone")
            let cancelled = try await suite.call(
                .POST, suite.transferPort, session + "/tasks/1/cancel-by-producing-resume-data")
            let error = cancelled.json["error"]
            #expect(error?["code"]?.int == -999)
            let data = try #require(error?["resumeData"]?.string)
            let there = try #require(cancelled.json["bytesReceived"]?.int)
            func use() async throws -> HTTPAnswer {
                try await suite.send(
                    .POST, suite.transferPort, session + "/downloads", headers: ["Content-Type": "application/json"],
                    ByteBuffer(string: #"{"resume":true,"resumeData":"\#(data)"}"#))
            }
            #expect(try await use().status == 201)
            try await suite.claim(2)
            suite.proxy.resume()
            let done = try await suite.completed(2)
            #expect(there > 0 && done["attempts"]?[0]?["from"]?.int == there && done.ends == ["finished"])
            #expect(done["sha256"]?.string == Self.sha256 && done["bytesReceived"]?.int == 20 << 20)
            let file = try await suite.send(.GET, suite.transferPort, session + "/tasks/2/file")
            #expect(TransferServiceTests.sha256(file.body) == Self.sha256)
            let again = try await use()
            #expect(again.status == 422 && again.code == "unusable_resume_data")
        }
    }
}

extension TransferSuite {
    /// Begins a download and waits until some bytes are reported. The proxy stays paused. Returns the task.
    @discardableResult
    func downloadSome(of content: String, on device: String = "phone") async throws -> Int {
        let task = try await download("http://127.0.0.1:\(proxy.port)/content/\(content)", on: device)
        try await proxy.trickle(until: "\(device) has some bytes") { [self] in
            try await self.task(task, of: device)["bytesReceived"]?.int ?? 0 > 0
        }
        return task
    }

    /// Claims the file of a download, so that it stays.
    func claim(_ task: Int) async throws {
        let path = Downloads.session("phone") + "/tasks/\(task)/claim"
        try await call(.POST, transferPort, path, #"{"name":"file-\#(task)"}"#)
    }

    fileprivate func strike(_ device: String, _ cause: InterruptedTransfers.Cause) async throws {
        let path = "/v1/devices/\(device)"
        let session = Downloads.session(device)
        switch cause {
        case .networkLost:
            try await call(.PATCH, lifecyclePort, path + "/conditions", #"{"network":{"kind":"none"}}"#)
        case .poweredOff: try await call(.POST, lifecyclePort, path + "/power", #"{"event":"off"}"#)
        case .suspended: try await call(.POST, transferPort, session + "/tasks/1/suspend")
        case .cancelled: try await call(.POST, transferPort, session + "/tasks/1/cancel")
        case .sessionInvalidated: try await call(.POST, transferPort, session + "/invalidate-and-cancel")
        // The call waits a short time for willTerminate.
        case .forceQuit: try await call(.DELETE, lifecyclePort, path + "/app-switcher/app")
        case .uninstalled: try await call(.DELETE, lifecyclePort, path + "/apps/app")
        }
    }

    /// Ends the interruption.
    fileprivate func heal(_ device: String, _ cause: InterruptedTransfers.Cause) async throws {
        let path = "/v1/devices/\(device)"
        switch cause {
        case .networkLost:
            try await call(.PATCH, lifecyclePort, path + "/conditions", #"{"network":{"kind":"wifi"}}"#)
        case .poweredOff: try await call(.POST, lifecyclePort, path + "/power", #"{"event":"boot"}"#)
        default: try await call(.POST, transferPort, Downloads.session(device) + "/tasks/1/resume")
        }
    }
}
