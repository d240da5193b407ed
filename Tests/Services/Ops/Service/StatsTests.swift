import Contracts
import Foundation
import Postgres
import Records
import TestSupport
import Testing
import Timeline

@testable import OpsService

/// The counts of events.
@Suite("Statistics over HTTP", .tags(.database), .timeLimit(.minutes(5))) struct StatsTests {
    private static let window = "?since=2020-01-01T00:00:00.000Z&until=2120-01-01T00:00:00.000Z&interval=86400"

    /// A count by type and label, and the list of the events with this type and label, have the same size.
    private func listsWhatIsCounted(_ fixture: OpsFixture) async throws {
        for (query, count) in [
            ("type=lifecycle.app.woken&label=push", 3),
            ("type=lifecycle.app.terminated&label=launchTimeout%200x8badf00d", 1),
            ("service=push&label=Held%20%E2%80%93%20Silent%20Budget", 2), ("service=push&label=Delivered", 3),
            ("service=push&label=Delivered*", 4), ("type=transfer.task.completed&label=-1001", 1), ("label=Deliver", 0),
            ("device=d0&label=Delivered*", 2),
        ] {
            #expect(try await fixture.get("/v1/events?\(query)").items.count == count, "\(query)")
        }
        #expect(try await fixture.get("/v1/events?label=").faults == ["/label"])
        #expect(try await fixture.get("/v1/events?label=a%0Ab").faults == ["/label"])
        #expect(try await fixture.get("/v1/events/stream?label=push").faults == ["/label"])
    }

    @Test func `events are counted by type and label`() async throws {
        try await OpsFixture.run { fixture in
            let events: [(String, String, Int)] = [
                ("lifecycle.app.woken", #"{"reason":"push","state":"background"}"#, 3),
                ("lifecycle.app.woken", #"{"reason":"fetch","state":"background"}"#, 1),
                ("lifecycle.wake.refused", #"{"reason":"push","refusal":"lowPowerMode"}"#, 2),
                ("lifecycle.app.terminated", #"{"reason":"launchTimeout","code":"0x8badf00d"}"#, 1),
                ("lifecycle.app.terminated", #"{"reason":"exit"}"#, 2),
                ("push.notification.held", #"{"status":"Held – Silent Budget"}"#, 2),
                ("push.notification.delivered", #"{"status":"Delivered"}"#, 3),
                ("push.notification.delivered", #"{"status":"Delivered From Storage"}"#, 1),
                ("push.notification.replaced", #"{"status":"Replaced By"}"#, 1),
                ("push.notification.opened", #"{"status":"Opened"}"#, 1),
                ("transfer.progress.made", #"{"bytesWritten":1000}"#, 3),
                ("transfer.body.sent", #"{"bytesSent":10}"#, 1),
                ("transfer.task.completed", "{}", 2),
                ("transfer.task.completed", #"{"error":{"domain":"NSURLErrorDomain","code":-1001}}"#, 1),
                ("fetch.refresh.due", "{}", 1),
            ]
            for (type, data, count) in events {
                for number in 0..<count { try await fixture.append(type, to: "d\(number)", app: "mail", data: data) }
            }
            let total = events.reduce(0) { $0 + $1.2 }
            let before = try await fixture.get("/v1/stats")
            #expect(before.json["lag"]?.int == total && before.json["events"]?.int == 0)
            try await fixture.count()
            let stats = try await fixture.get("/v1/stats").json
            #expect(stats["lag"]?.int == 0 && stats["events"]?.int == total && stats["interval"]?.int == 60)
            func pairs(_ name: String, _ key: String, _ count: String = "count") -> [String] {
                (stats[name]?.items ?? []).map { "\($0[key]?.string ?? "") \($0[count]?.int ?? -1)" }
            }
            #expect(pairs("woken", "reason") == ["push 3", "fetch 1"])
            #expect(pairs("refused", "reason") == ["lowPowerMode 2"])
            #expect(pairs("ended", "reason") == ["exit 2", "launchTimeout 1"])
            #expect(stats["ended"]?[0]?["code"] == .null && stats["ended"]?[1]?["code"] == "0x8badf00d")
            #expect(
                pairs("notifications", "status") == [
                    "Delivered 3", "Held – Silent Budget 2", "Delivered From Storage 1", "Opened 1",
                    "Replaced By 1",
                ])
            #expect(pairs("types", "type", "events").first == "lifecycle.app.woken 4")
            #expect(
                stats["transfers"]
                    == ["bytesReceived": 3000, "bytesSent": 10, "completed": 2, "failed": 1])
            let points = stats["points"]?.items ?? []
            func sum(_ series: String) -> Int { points.reduce(0) { $0 + ($1[series]?.int ?? 0) } }
            #expect(points.count == 60)
            #expect(sum("events") == total && sum("lifecycle") == 9 && sum("push") == 8 && sum("transfer") == 7)
            #expect(sum("fetch") == 1 && sum("woken") == 4 && sum("refused") == 2 && sum("killed") == 3)
            #expect(sum("delivered") == 4 && sum("held") == 2 && sum("stored") == 0 && sum("discarded") == 0)
            #expect(sum("replaced") == 1)
            try await listsWhatIsCounted(fixture)
            #expect(sum("bytes") == 3010)
            #expect(stats["since"] == points.first?["time"])
        }
    }

    @Test func `devices that are off are counted`() async throws {
        try await OpsFixture.run { fixture in
            for device in ["d1", "d2", "d3"] {
                try await fixture.append(
                    "lifecycle.device.registered", to: device, data: #"{"registration":{"profile":"iOS 18"}}"#)
            }
            for (device, power) in [("d1", "off"), ("d2", "off"), ("d2", "on")] {
                try await fixture.append("lifecycle.device.powered", to: device, data: #"{"power":"\#(power)"}"#)
            }
            try await fixture.count()
            let now = try await fixture.get("/v1/stats").json["now"]
            #expect(now?["devices"]?.int == 3 && now?["devicesOff"]?.int == 1)
        }
    }

    /// Checks minutes, hours and days, for any batches and any number of concurrent processes.
    @Test func `counts equal a full count of the log`() async throws {
        try await OpsFixture.run { fixture in
            try await fixture.sql(Self.manyEvents)
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<3 {
                    group.addTask {
                        for most in [1, 7, 100, 3, 1000] {
                            for partition in 0..<OpsFixture.partitions {
                                let call = Query(Self.countEvents, [.int4(Int32(partition)), .int4(Int32(most))])
                                _ = try await fixture.pool.execute(call)
                            }
                        }
                        try await fixture.count()
                    }
                }
                try await group.waitForAll()
            }
            try await fixture.count()
            for width in [60, 3600, 86_400] {
                let faults = try await fixture.owner.execute(
                    Query(
                        Statement(
                            """
                            SELECT count(*) FROM (
                                SELECT partition, (time / 1000 / $1::bigint) * $1::bigint AS start, type,
                                    CASE type WHEN 'lifecycle.app.woken' THEN data ->> 'reason' ELSE '' END AS label, day,
                                    count(*) AS events,
                                    sum(coalesce((data ->> 'bytesWritten')::numeric, 0)) AS amount
                                FROM bus.events GROUP BY 1, 2, 3, 4, 5) AS e
                            FULL JOIN (SELECT * FROM ops.counts WHERE width = $1::bigint) AS c
                                USING (partition, start, type, label, day)
                            WHERE (e.events = c.events AND e.amount = c.amount) IS NOT TRUE
                            """), [.int(width)]))[0].decode(Int.self, at: 0)
                #expect(faults == 0, "\(width) s")
            }
            let totals = try await fixture.get("/v1/stats" + Self.window.replacing("2120", with: "2023")).json
            #expect(totals["events"]?.int == 3000 && totals["transfers"]?["bytesReceived"]?.int == 1_000_000)
        }
    }

    private static let countEvents = Statement("SELECT ops.count_events($1, $2)")
    /// Appends 1,000 events of each of three types, over three days of suite time and two days of the log.
    private static let manyEvents = """
        WITH generated AS (
            SELECT n, (n * 7919 % 3)::int AS partition FROM generate_series(1, 3000) AS n
        ), numbered AS (
            SELECT n, partition, row_number() OVER (PARTITION BY partition ORDER BY n) AS log_offset FROM generated
        ), inserted AS (
            INSERT INTO bus.events (partition, log_offset, day, id, source, type, version, key, app, time, correlationid, data)
            SELECT partition, log_offset, current_date + (n > 2000)::int, gen_random_uuid(), split_part(type, '.', 1), type, 1,
                'device:d' || n % 50, 'mail', 1600000000000 + n::bigint * 86400, gen_random_uuid(), data
            FROM numbered, LATERAL (VALUES
                (0, 'lifecycle.app.woken', json_build_object('reason', CASE n % 2 WHEN 0 THEN 'push' ELSE 'fetch' END)),
                (1, 'transfer.progress.made', '{"bytesWritten":1000}'),
                (2, 'fetch.refresh.due', '{}')) AS k (kind, type, data)
            WHERE k.kind = n % 3 RETURNING partition)
        UPDATE bus.partitions AS p SET head = a.n FROM (SELECT partition, count(*) AS n FROM inserted GROUP BY 1) AS a
        WHERE p.partition = a.partition
        """

    @Test(arguments: [
        ("interval=61", ["/interval"]), ("interval=0&since=yesterday", ["/interval", "/since"]),
        ("colour=red", ["/colour"]),
        ("since=2026-01-02T00:00:00.000Z&until=2026-01-01T00:00:00.000Z", ["/until"]),
        ("since=2026-01-01T00:00:00.000Z&until=2026-02-01T00:00:00.000Z", ["/until"]),
    ])
    func `invalid queries are refused`(query: String, faults: [String]) async throws {
        try await OpsFixture.run { fixture in
            let answer = try await fixture.get("/v1/stats?" + query)
            #expect(answer.status == 400 && answer.code == "invalid_query" && answer.faults.sorted() == faults)
            #expect(try await fixture.get("/v1/stats", key: OpsFixture.otherKey).status == 403)
        }
    }

    /// The points cover every minute, hour or day that the window touches.
    @Test func `a window consists of whole points`() async throws {
        try await OpsFixture.run { fixture in
            let answer = try await fixture.get(
                "/v1/stats?interval=7200&since=2026-01-01T01:30:00.000Z&until=2026-01-01T04:00:00.001Z")
            #expect(answer.json["since"] == "2026-01-01T00:00:00.000Z")
            #expect(answer.json["until"] == "2026-01-01T06:00:00.000Z")
            #expect(answer.json["points"]?.items?.count == 3)
        }
    }
}
