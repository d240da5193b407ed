import Identity
import NIOHTTP1
import Records
import TestSupport
import Testing

/// A change of the file with the operators' keys, in running services.
@Suite("Operator keys of running services", .tags(.database, .processes), .timeLimit(.minutes(5)))
struct OperatorKeyTests {
    @Test func `each process adds a row about the changed file, without a key`() async throws {
        let suite = try await RunningSuite.start([.lifecycle, .ops])
        let alice = OperatorKeys.line(name: "alice", scopes: [.read, .operate], key: RunningSuite.operatorKey)
        let carol = OperatorKeys.line(name: "carol", scopes: [.read], key: "paper-clip")
        try suite.write(operatorKeys: [alice, carol])
        try await eventually(describe: "both processes have read the file and written a row") {
            let answer = try await suite.send(.GET, .ops, "/v1/audit?action=operatorKeys.reloaded", as: "paper-clip")
            return answer.json["items"]?.items?.count == 2
        }
        let rows = try await suite.send(.GET, .ops, "/v1/audit?subject=operatorKeys").json["items"]?.items ?? []
        #expect(Set(rows.compactMap { $0["service"]?.string }) == ["lifecycle", "ops"])
        #expect(rows.allSatisfy { $0["details"] == ["added": ["carol"], "removed": ["bob"]] })
        #expect(try await suite.send(.GET, .ops, "/v1/devices", as: RunningSuite.readersKey).status == 401)
        for (service, end) in try await suite.stop() { #expect(end == .exited(0), "\(service)") }
        try await suite.cluster.destroy()
    }
}
