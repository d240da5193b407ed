import NIOHTTP1
import Records
import TestSupport
import Testing

/// The log level of a running process.
@Suite("Log levels", .tags(.database, .processes), .timeLimit(.minutes(5))) struct LogLevelTests {
    private static let path = "/v1/log-level"

    @Test func `an operator sets the level of each process, and each change leaves a row`() async throws {
        let suite = try await RunningSuite.start()
        for service in SuiteService.allCases {
            #expect(try await suite.send(.GET, service, Self.path).json == ["level": "warning"])
            try await refusals(suite, service)
            #expect(!suite.words(of: service).contains("answered request"))
            let set = try await suite.send(.PUT, service, Self.path, ["level": "debug"])
            #expect(set.status == 200 && set.json == ["level": "debug"])
            #expect(try await suite.send(.GET, service, "/v1/nothing?a=b").status == 404)
            try await eventually(describe: "\(service) logs requests") {
                suite.words(of: service).contains("/v1/nothing")
            }
            #expect(try await suite.send(.PUT, service, Self.path, ["level": "warning"]).status == 200)
            #expect(try await suite.send(.GET, service, "/v1/else").status == 404)
        }
        let rows = try await suite.send(.GET, .ops, "/v1/audit?action=logLevel.set").json["items"]?.items ?? []
        #expect(rows.count == 10 && Set(rows.compactMap { $0["service"]?.string }).count == 5)
        #expect(rows.allSatisfy { $0["actor"] == "alice" && $0["subject"] == "logLevel" })
        #expect(rows.last?["details"] == ["former": "warning", "level": "debug"])
        try await suite.cluster.stop()
        // The database can't take the row, and the change counts all the same.
        #expect(try await suite.send(.PUT, .push, Self.path, ["level": "error"]).json == ["level": "error"])
        #expect(try await suite.send(.GET, .push, Self.path).json == ["level": "error"])
        for service in SuiteService.allCases {
            #expect(!suite.words(of: service).contains("/v1/else"), "the level was debug no longer")
        }
        try await suite.cluster.start()
        for (service, end) in try await suite.stop() { #expect(end == .exited(0), "\(service)") }
        try await suite.cluster.destroy()
    }

    /// A refused request changes nothing.
    private func refusals(_ suite: RunningSuite, _ service: SuiteService) async throws {
        let reader = try await suite.send(
            .PUT, service, Self.path, ["level": "debug"], as: RunningSuite.readersKey)
        #expect(reader.status == 403)
        #expect(try await suite.send(.PUT, service, Self.path, ["level": "debug"], as: "nobody").status == 401)
        for body: JSON in [["level": "loud"], [:], ["level": "debug", "seconds": 5], []] {
            let refused = try await suite.send(.PUT, service, Self.path, body)
            #expect((400...422).contains(refused.status), "\(body)")
        }
        #expect(try await suite.send(.GET, service, Self.path).json == ["level": "warning"])
    }
}
