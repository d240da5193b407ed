import Foundation
import Glibc
import NIOCore
import NIOHTTP1
import Records
import TestSupport
import Testing
import TransferCore

/// Transfers and uploads on a full disk.
@Suite(.tags(.database, .processes), .serialized) struct FullDisks {
    /// A shortage, and the wrapper that runs `transfer` with it. There is room for 8 MiB.
    enum Shortage: String, CaseIterable, CustomTestStringConvertible {
        /// A separate file system is full (`ENOSPC`).
        case space
        /// No file may be longer (`EFBIG`). The wrapper ignores the signal that comes first.
        case fileSize
        var testDescription: String { rawValue }

        func wrapper(_ directory: URL) -> [String] {
            switch self {
            case .space:
                let script = #"mount -t tmpfs -o size=8m tmpfs "$0" && exec "$@""#
                return ["/usr/bin/unshare", geteuid() == 0 ? "-m" : "-Urm", "/bin/sh", "-c", script, directory.path]
            case .fileSize:
                // `ulimit -f` counts units of 512 bytes.
                return ["/bin/sh", "-c", #"trap '' XFSZ && ulimit -f 16384 && exec "$@""#, "sh"]
            }
        }

        /// Returns the possible shortages: a container may forbid mounts.
        static func possible() async throws -> [Shortage] {
            let folder = FileManager.default.temporaryDirectory
            let command = Shortage.space.wrapper(folder) + ["/bin/true"]
            let probe = try ChildProcess.start(command[0], Array(command.dropFirst()))
            return try await probe.exit() == .exited(0) ? allCases : [.fileSize]
        }
    }

    @Test func `a full disk fails only the transfers that do not fit`() async throws {
        for shortage in try await Shortage.possible() { try await runShort(of: shortage) }
    }

    private func runShort(of shortage: Shortage) async throws {
        let comment = Comment(rawValue: "short of \(shortage.rawValue)")
        let origin = try await ContentOrigin.start()
        defer { origin.process.signal(SIGTERM) }
        let files = try await origin.put([300_000, 20 << 20, 3 << 20], seed: 8)
        try await RationedProxy.with(to: origin.port, rations: [4 << 20], then: .slow) { proxy in
            let (suite, transfer) = try await TransferSuite.start(
                origins: [origin.port, proxy.port].map { "http://127.0.0.1:\($0)" }, settings: ["--data-reserve", "0"],
                through: shortage.wrapper)
            defer { transfer.signal(SIGTERM) }
            let downloads = try await Downloads.begin([files[0]], from: origin.port, on: suite, devices: 1)
            try await downloads.add(files[1], to: "phone-0", from: proxy.port)
            try await eventually(describe: "some bytes are reported, \(comment)") {
                try await downloads.states()["phone-0"]?.last?.bytesReceived ?? 0 > 0
            }
            proxy.release()
            try await downloads.completed()
            try await servesOn(downloads, files, origin, comment)
        }
    }

    private func servesOn(
        _ downloads: Downloads, _ files: [ContentOrigin.File], _ origin: ContentOrigin, _ comment: Comment
    ) async throws {
        let suite = downloads.suite
        try await eventually(describe: "the failed transfer takes no space, \(comment)") {
            try await suite.send(.PUT, suite.transferPort, "/content/room", files[2].bytes).status < 300
        }
        _ = try await suite.send(.DELETE, suite.transferPort, "/content/room")
        try await downloads.add(files[2], to: "phone-0", from: origin.port)
        try await downloads.completed()

        let tasks = try await downloads.tasks(of: "phone-0")
        try #require(tasks.count == 3)
        #expect(tasks[1]["error"]?["code"]?.int == -3003, comment)
        #expect((tasks[1]["attempts"]?.items ?? []).map { $0["end"]?.string } == ["cannotWrite"], comment)
        for (task, file) in [(tasks[0], files[0]), (tasks[2], files[2])] {
            #expect(task["error"] == .null && task["sha256"]?.string == file.sha256, comment)
            #expect(sha256(try await downloads.claimed(file, by: "phone-0").body) == file.sha256, comment)
        }
        for path in ["/content/large", "/v1/devices/phone-0/apps/app/files/large"] {
            let large = try await suite.send(.PUT, suite.transferPort, path, files[1].bytes)
            #expect(large.status == 507 && large.json["code"]?.string == "disk_full", comment)
            let small = try await suite.send(.PUT, suite.transferPort, path, files[0].bytes)
            #expect(small.status == 201, comment)
            let kept = try await suite.send(.GET, suite.transferPort, path)
            #expect(sha256(kept.body) == files[0].sha256, comment)
        }
    }
}
