import NIOHTTP1
import Records
import TestSupport
import Testing

/// `ops` with queries on a standby.
@Suite("Queries on a standby", .tags(.database, .processes), .timeLimit(.minutes(5))) struct StandbyTests {
    private func fleet(_ suite: RunningSuite) async throws -> [String] {
        let answer = try await suite.send(.GET, .ops, "/v1/devices")
        guard answer.status == 200 else { return ["status \(answer.status)"] }
        return (answer.json["items"]?.items ?? []).compactMap { $0["device"]?.string }
    }

    @Test func `queries read the standby, and all else the primary`() async throws {
        let suite = try await RunningSuite.start(hasStandby: true, readsStandby: true)
        let standby = try #require(suite.standby)
        let stream = try await suite.stream(.ops, "/v1/events/stream")
        try await suite.call(.PUT, .lifecycle, "/v1/devices/one", ["profile": "ios18"])
        try await eventually(describe: "the first device") { try await fleet(suite) == ["one"] }

        // The standby still stores the log, so commits go on.
        try await standby.sql("SELECT pg_wal_replay_pause()")
        try await eventually(describe: "the standby is paused") {
            try await standby.sql("SELECT pg_get_wal_replay_pause_state()") == "paused"
        }
        let seen = stream.items.count
        try await suite.call(.PUT, .lifecycle, "/v1/devices/two", ["profile": "ios18"])
        try await stream.waitFor(seen + 1, "the event on the stream")
        try await eventually(describe: "the primary lists both devices") {
            try await suite.cluster.sql("SELECT count(*) FROM ops.known_devices", database: suite.database) == "2"
        }
        #expect(try await fleet(suite) == ["one"])
        try await standby.sql("SELECT pg_wal_replay_resume()")
        try await eventually(describe: "the second device") { try await fleet(suite).sorted() == ["one", "two"] }

        // Without the standby, only queries fail.
        try await standby.stop(.immediate)
        try await suite.cluster.sql("ALTER SYSTEM RESET synchronous_standby_names")
        try await suite.cluster.sql("SELECT pg_reload_conf()")
        let refused = try await suite.send(.GET, .ops, "/v1/devices")
        #expect(refused.status == 503 && refused.json["code"] == "database_unavailable", "\(refused)")
        // The checks run every few seconds.
        try await eventually(describe: "/readyz reports the standby") {
            _ = try await suite.send(.GET, .ops, "/v1/devices")
            let ready = try await suite.send(.GET, .ops, "/readyz")
            return ready.status == 200 && ready.json["checks"]?["read_database"] == "failing"
        }
        // `ops` starts without it, too.
        try await suite.kill(.ops)
        try await suite.launch(.ops)
        #expect(try await suite.send(.GET, .ops, "/v1/devices").status == 503)
        try await suite.call(.PUT, .lifecycle, "/v1/devices/three", ["profile": "ios18"])
        try await standby.start()
        try await eventually(describe: "all devices") { try await fleet(suite).count == 3 }
        for (service, end) in try await suite.stop() { #expect(end == .exited(0), "\(service)") }
        try await standby.destroy()
        try await suite.cluster.destroy()
    }

    @Test func `a database with another log is refused at the start`() async throws {
        let suite = try await RunningSuite.start([])
        let other = try await RunningSuite.start([])
        var settings = suite.settings(of: .ops)
        settings["READ_DATABASE_URL"] =
            "postgresql://dormouse_ops@127.0.0.1:\(other.cluster.port)/\(other.database)"
        settings["PORT"] = "0"
        let ops = try ChildProcess.start(ChildProcess.product("ops"), ["serve"], environment: settings)
        #expect(try await ops.exit(within: 60) == .exited(1))
        #expect(ops.errors.tail().contains("READ_DATABASE_URL (--read-database-url) names a database with another log"))
        try await other.cluster.destroy()
        try await suite.cluster.destroy()
    }
}
