import NIOCore
import NIOHTTP1
import Records
import TestSupport
import Testing

/// The demonstration fleet, with the options of `./deploy/up`.
@Suite("A fleet over the whole suite", .tags(.database, .processes), .timeLimit(.minutes(5))) struct FleetRunTests {
    @Test func `the provider of the fleet trusts the exported authority and sends over HTTPS`() async throws {
        let suite = try await RunningSuite.start()
        let fleet = try suite.startFleet(devices: 10)
        try await eventually(within: 120, describe: "notifications are accepted over HTTP/2") {
            let metrics = String(buffer: try await suite.send(.GET, .push, "/metrics").body)
            let line = metrics.split(separator: "\n").first {
                $0.hasPrefix(#"dormouse_push_provider_answers_total{status="200"}"#)
            }
            return line?.split(separator: " ").last.flatMap { Int($0) } ?? 0 >= 5
        }
        let (status, words, summary) = try await fleet.finish()
        #expect(status == .exited(0), "\(words)")
        #expect(summary["ok"]?.bool == true, "\(words)")
        #expect(summary["pushes"]?.int ?? 0 >= 5, "\(words)")
        #expect(summary["pushRefusals"]?["unreachable"] == nil, "\(words)")
        for (service, end) in try await suite.stop() { #expect(end == .exited(0), "\(service)") }
        try await suite.cluster.destroy()
    }

    @Test func `devices talk in channels and upload videos`() async throws {
        let suite = try await RunningSuite.start()
        let fleet = try suite.startFleet(devices: 30)
        /// Waits until the log has events of a type.
        func hear(_ type: String, _ condition: String = "true") async throws {
            try await eventually(within: 120, describe: "\(type) \(condition)") {
                let query = "SELECT count(*) > 0 FROM bus.events WHERE type = '\(type)' AND \(condition)"
                return try await suite.cluster.sql(query, database: suite.database).hasPrefix("t")
            }
        }
        try await hear("push.token.registered", "data ->> 'kind' = 'pushtotalk'")
        try await hear("lifecycle.wake.completed", "data ->> 'pushResult' = 'activeRemoteParticipant'")
        try await hear("transfer.upload.created")
        try await hear("transfer.task.completed", "data ->> 'status' = '201'")
        let (status, words, summary) = try await fleet.finish()
        #expect(status == .exited(0), "\(words)")
        #expect(summary["ok"]?.bool == true, "\(words)")
        #expect(summary["talks"]?.int ?? 0 > 0, "\(words)")
        #expect(summary["uploads"]?.int ?? 0 > 0, "\(words)")
        for (service, end) in try await suite.stop() { #expect(end == .exited(0), "\(service)") }
        try await suite.cluster.destroy()
    }
}
