import Foundation
import NIOCore
import NIOHTTP1
import Records
import TestSupport
import Testing

extension Story {
    /// The table of metrics has every exported metric, and every row of the table is exported.
    func compareMetrics() async throws {
        let readme = Repository.file("Services/Ops/README.md")
        var documented: Set<String> = []
        for line in try String(contentsOf: readme, encoding: .utf8).split(separator: "\n") {
            let cells = line.split(separator: "|", omittingEmptySubsequences: false).map {
                $0.trimmingCharacters(in: CharacterSet(charactersIn: " `"))
            }
            if cells.count > 2, cells[1].hasPrefix("dormouse_") { documented.insert("\(cells[1]) \(cells[2])") }
        }
        var told: Set<String> = []
        for service in SuiteService.allCases {
            let text = String(buffer: try await suite.call(.GET, service, "/metrics").body)
            let file = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
            defer { try? FileManager.default.removeItem(at: file) }
            try text.write(to: file, atomically: true, encoding: .utf8)
            let check = try ChildProcess.start("/bin/sh", ["-c", "promtool check metrics <\"$0\"", file.path])
            #expect(try await check.exit() == .exited(0), "\(service): \(check.output.tail()) \(check.errors.tail())")
            for line in text.split(separator: "\n") where line.hasPrefix("# TYPE ") {
                told.insert(String(line.dropFirst(7)))
            }
        }
        #expect(told.subtracting(documented).isEmpty, "missing in the table")
        // The story does not cause these metrics.
        #expect(
            documented.subtracting(told).isSubset(of: [
                "dormouse_push_provider_answers_total counter", "dormouse_push_provider_connections gauge",
                "dormouse_transfer_files_trashed_total counter", "dormouse_auth_failures_total counter",
                "dormouse_push_broadcasts_dropped_total counter", "dormouse_push_provider_refusals_total counter",
                "dormouse_push_delivery_seconds histogram",
            ]))
    }

    /// The counts equal the states at the end of the log.
    func compareStatistics() async throws {
        try await TestSupport.eventually(describe: "all events are counted") { [suite] in
            try await suite.call(.GET, .ops, "/v1/stats").json["lag"]?.int == 0
        }
        let devices = try await suite.call(.GET, .ops, "/v1/devices?limit=1000").json["items"]?.items ?? []
        let now = try await suite.call(.GET, .ops, "/v1/stats").json["now"]
        #expect(!devices.isEmpty && now?["devices"]?.int == devices.count)
        for device in devices {
            let name = try #require(device["device"]?.string)
            let state = try await suite.call(.GET, .ops, "/v1/devices/\(name)/state?service=lifecycle").json["state"]
            for app in device["apps"]?.items ?? [] {
                let known = try #require(app["app"]?.string)
                #expect(state?["apps"]?[known]?["state"] == app["state"], "\(name) \(known)")
            }
        }
    }
}
