import NIOCore
import NIOHTTP1
import Records
import TestSupport
import Testing

/// A standby that is not synchronous becomes the primary, and the log goes back.
@Suite("A promotion that loses events", .tags(.database, .processes), .timeLimit(.minutes(5)))
struct PromotionTests {
    @Test func `the log goes on without the lost events, and places from before are refused`() async throws {
        let suite = try await RunningSuite.start(
            [.lifecycle, .push, .ops], fsync: true, hasStandby: true, isSynchronous: false)
        let standby = try #require(suite.standby)
        let kept = try await suite.call(.PUT, .lifecycle, "/v1/devices/kept", ["profile": "ios18"])
        let events = "SELECT count(*) FROM bus.events"
        let count = try await suite.cluster.sql(events, database: suite.database)
        try await eventually(describe: "the standby has the first device") {
            (Int(try await standby.sql(events, database: suite.database)) ?? 0) >= (Int(count) ?? 1)
        }
        // The standby receives nothing more.
        try await standby.sql("ALTER SYSTEM SET primary_conninfo = ''")
        try await standby.sql("SELECT pg_reload_conf()")
        try await eventually(describe: "the standby is cut off") {
            try await standby.sql("SELECT count(*) FROM pg_stat_wal_receiver") == "0"
        }
        let lost = try await suite.call(.PUT, .lifecycle, "/v1/devices/lost", ["profile": "ios18"])
        let positions = try [kept, lost].map { try #require($0.position) }
        let cursor = try #require(try await suite.call(.GET, .ops, "/v1/events?limit=1").json["next"]?.string)

        // `push` has read the lost event, and has written none there.
        let read = try await suite.send(
            .GET, .push, "/v1/devices/lost/apps/news/notifications", headers: ["Dormouse-Position": positions[1]])
        #expect(read.status == 200, "\(read)")

        try await suite.cluster.kill()
        try await standby.promote()
        // A process that knows a lost event does not write over it.
        for number in 0..<3 {
            let refused = try await suite.send(.PUT, .lifecycle, "/v1/devices/lost", ["profile": "ios18"])
            #expect(refused.status == 503, "attempt \(number): \(refused)")
        }
        for service in [SuiteService.lifecycle, .push] {
            try await eventually(within: 60, describe: "/readyz of \(service) names the loss") {
                let state = try await suite.send(.GET, service, "/readyz")
                return state.json["checks"]?["log"] == "failing"
                    && String(buffer: state.body).contains("the database has lost events: partition")
            }
        }
        let refused = try await suite.send(.PUT, .lifecycle, "/v1/devices/other", ["profile": "ios18"])
        #expect(refused.status == 503 && refused.json["code"] == "events_lost", "\(refused)")
        let begin = try ChildProcess.start(
            ChildProcess.product("ops"), ["begin-incarnation"],
            environment: ["MIGRATION_DATABASE_URL": standby.url(database: suite.database)])
        #expect(try await begin.exit(within: 30) == .exited(0), "\(begin.errors.tail())")
        for service in [SuiteService.lifecycle, .push, .ops] {
            #expect(try await suite.end(of: service) == .exited(1), "\(suite.words(of: service))")
            #expect(suite.words(of: service).contains("the log was restored"))
            try await suite.launch(service)
        }

        #expect(try await suite.send(.GET, .lifecycle, "/v1/devices/kept").status == 200)
        #expect(try await suite.send(.GET, .lifecycle, "/v1/devices/lost").status == 404)
        var stale = [try await suite.send(.GET, .ops, "/v1/events?cursor=\(cursor)")]
        for position in positions {
            stale.append(
                try await suite.send(.GET, .lifecycle, "/v1/devices/kept", headers: ["Dormouse-Position": position]))
        }
        for answer in stale {
            #expect(answer.status == 410 && answer.json["code"] == "earlier_incarnation", "\(answer)")
        }
        // Its events take the lost offsets.
        let again = try await suite.send(.PUT, .lifecycle, "/v1/devices/lost", ["profile": "ios18"])
        #expect(again.status == 201)
        let place = try #require(again.position)
        #expect(place.hasSuffix(".\(positions[1])"), "\(place) after \(positions[1])")
        let check = try await suite.call(.GET, .ops, "/v1/log/check?folds=100").json
        #expect(check["dense"]?.bool == true && check["sound"]?.bool == true, "\(check)")
        _ = try await suite.stop()
        try await standby.destroy()
        try await suite.cluster.destroy()
    }
}
