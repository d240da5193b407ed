import NIOHTTP1
import Records
import TestSupport
import Testing

/// Runs the body with a fleet and the witnesses, then stops the suite and audits the log.
func underLoad(
    _ suite: RunningSuite, _ body: @Sendable @escaping (RunningSuite, [Witness]) async throws -> Void
) async throws {
    let witnesses = try await Witness.all(suite)
    let fleet = try suite.startFleet(devices: 30)
    try await withThrowingTaskGroup(of: Void.self) { group in
        for witness in witnesses { group.addTask { try await witness.run() } }
        group.addTask {
            defer { for witness in witnesses { witness.stop() } }
            try await fleet.process.waitForLine(containing: "30 devices", within: 120)
            for witness in witnesses { try await witness.acknowledges(3) }
            try await body(suite, witnesses)
        }
        try await group.waitForAll()
    }
    let (status, words, summary) = try await fleet.finish()
    #expect(status == .exited(0), "\(words)")
    #expect(summary["ok"]?.bool == true, "\(words)")
    #expect(summary["devices"]?.int == 30)
    #expect(summary["lostOrders"]?.int == 0)
    #expect(summary["launches"]?.int ?? 0 > 0)
    #expect(summary["wakesCompleted"]?.int ?? 0 > 0, "\(words)")

    try await suite.waitUntilAllIsTakenIn()
    let check = try await suite.call(.GET, .ops, "/v1/log/check?folds=100").json
    #expect(check["dense"]?.bool == true && check["sound"]?.bool == true, "\(check)")
    for (service, end) in try await suite.stop() { #expect(end == .exited(0), "\(service)") }
    let audit = try await LogAudit.run(suite, on: suite.standby)
    for witness in witnesses { witness.check(audit) }
    try await suite.standby?.destroy()
    try await suite.cluster.destroy()
}
