import Foundation
import NIOCore
import NIOHTTP1
import Records
import TestSupport
import Testing

/// The shutdown of a service after SIGTERM.
@Suite("Shutdown", .tags(.database, .processes), .timeLimit(.minutes(5))) struct ShutdownTests {
    @Test func `a shutdown ends streams and long polls and releases the leases`() async throws {
        let suite = try await RunningSuite.start([.lifecycle])
        for device in ["streaming", "polling"] {
            try await suite.call(.PUT, .lifecycle, "/v1/devices/\(device)", ["profile": "ios15"])
        }
        try await eventually(within: 90, describe: "all partitions are held") {
            try await owned(suite) == 16
        }
        let streams = [
            try await suite.stream(.lifecycle, "/v1/devices/streaming/orders"),
            try await suite.stream(.lifecycle, "/v1/fleets/default/orders"),
        ]
        // The poll is longer than the limit of a shutdown.
        async let poll = suite.send(.GET, .lifecycle, "/v1/devices/polling/orders?wait=30")
        try await eventually(within: 90, describe: "both streams and the poll are open") {
            let metrics = String(buffer: try await suite.send(.GET, .lifecycle, "/metrics").body)
            // This request counts too.
            return value("dormouse_http_streams_open", metrics) == 2
                && value("dormouse_http_requests_in_flight", metrics) ?? 0 >= 2
        }
        let begin = ContinuousClock.now
        let ends = try await suite.stop()
        let took = begin.duration(to: .now)
        #expect(ends == [.lifecycle: .exited(0)])
        #expect(took < .seconds(10), "it took \(took)")
        for stream in streams { try await stream.waitForEnd("the stream has ended") }
        let answer = try await poll
        #expect(answer.status == 200 && answer.json["items"]?.items == [])
        #expect(try await owned(suite) == 0)
        try await suite.cluster.destroy()
    }

    private func value(_ metric: String, _ text: String) -> Int? {
        let line = text.split(separator: "\n").first { $0.hasPrefix(metric + " ") }
        return line.flatMap { Int($0.dropFirst(metric.count + 1)) }
    }

    private func owned(_ suite: RunningSuite) async throws -> Int {
        let count = try await suite.cluster.sql(
            "SELECT count(*) FROM bus.cursors WHERE consumer = 'lifecycle' AND owner IS NOT NULL",
            database: suite.database)
        return Int(count.trimmingCharacters(in: .whitespacesAndNewlines)) ?? -1
    }
}
