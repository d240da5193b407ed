import Contracts
import EventLog
import Foundation
import OrderedCollections
import Postgres
import Records
import Reports
import Scenarios
import Simulation
import TestSupport
import Testing
import Timeline

@testable import OpsService

/// Reports of time ranges, against the report of the simulation that wrote the log.
@Suite("Reports over HTTP", .tags(.database), .timeLimit(.minutes(10))) struct ReportsTests {
    /// Two apps with pushes over the silent budget, alerts that expire, refreshes, kills, crashes and transfers. One
    /// device has another time zone than UTC.
    static let scenario = """
        {
          "name": "two apps", "for": "2d", "devices": {"count": 5, "mix": "ios18", "timeZone": "Europe/Berlin", "seed": 3},
          "people": [
            {"share": 50, "habits": {"opens": ["08:00 news", "09:00±20m mail"], "stay": "5m"}, "forceQuits": "after each use"},
            {"share": 50, "habits": {"opens": ["08:00 news", "12:00±20m mail"], "stay": "5m"}}
          ],
          "apps": [
            {"id": "news", "backgroundModes": ["remote-notification", "fetch"],
             "handler": {"takes": "3s", "result": {"newData": 70, "noData": 20, "neverReturns": 10}},
             "transfers": [{"size": "50MB"}]},
            {"id": "mail", "backgroundModes": ["remote-notification"], "transfers": [{"kind": "upload", "size": "2MB"}]}
          ],
          "provider": [
            {"at": "08:10", "app": "news", "send": "silent", "every": "5m", "until": "12:00"},
            {"at": "09:30", "app": "mail", "send": "alert", "every": "1h", "until": "20:00", "expiration": "10m"},
            {"at": "13:50", "app": "mail", "send": "alert", "every": "10m", "until": "14:40", "collapseID": "score"}
          ],
          "faults": [{"at": "14:00", "for": "3h", "reboot": true}, {"at": "12:01", "crash": "news"}]
        }
        """

    static let simulation = Task {
        let file = FileManager.default.temporaryDirectory.appending(path: "reports-\(UUID()).ndjson")
        defer { try? FileManager.default.removeItem(at: file) }
        _ = FileManager.default.createFile(atPath: file.path, contents: nil)
        let run = SimulationRun(try Scenario(jsonBytes: Array(scenario.utf8)))
        let report = try await run.run(log: FileHandle(forWritingTo: file))
        let lines = try Data(contentsOf: file).split(separator: UInt8(ascii: "\n"))
        return (report: report.document, log: try lines.map { try JSON(parsing: $0) })
    }

    /// Appends the events of a log in their order.
    private func write(_ log: [JSON], to fixture: OpsFixture) async throws {
        let append = Statement(
            """
            WITH added AS (
                SELECT e.*, row_number() OVER (PARTITION BY e.partition ORDER BY e.place) AS number
                FROM unnest($1::int4[], $2::text[], $3::text[], $4::text[], $5::text[], $6::int8[], $7::text[], $8::text[],
                    $9::text[]) WITH ORDINALITY AS e (partition, id, type, key, app, time, correlation, causation, data, place)
            ), inserted AS (
                INSERT INTO bus.events
                    (partition, log_offset, day, id, source, type, version, key, app, time, correlationid, causationid, data)
                SELECT a.partition, p.head + a.number, current_date, a.id::uuid, split_part(a.type, '.', 1), a.type, 1, a.key,
                    a.app, a.time, a.correlation::uuid, a.causation::uuid, a.data::json
                FROM added AS a JOIN bus.partitions AS p USING (partition) RETURNING partition)
            UPDATE bus.partitions AS p SET head = p.head + i.n, day = current_date
            FROM (SELECT partition, count(*) AS n FROM inserted GROUP BY partition) AS i WHERE p.partition = i.partition
            """)
        for start in stride(from: 0, to: log.count, by: 2000) {
            let batch = log[start..<min(start + 2000, log.count)]
            func texts(_ member: String) -> [String?] { batch.map { $0[member]?.string } }
            let keys = texts("subject").map { subject in
                let parts = (subject ?? "").split(separator: "/", maxSplits: 1).map(String.init)
                return (key: AggregateKey(parts.first ?? ""), app: parts.dropFirst().first)
            }
            let times = texts("time").map { $0.flatMap(Instant.init)?.milliseconds ?? 0 }
            _ = try await fixture.owner.execute(
                Query(
                    append,
                    [
                        .int4s(keys.map { Int32($0.key.partition(of: OpsFixture.partitions)) }), .texts(texts("id")),
                        .texts(texts("type")), .texts(keys.map(\.key.description)), .texts(keys.map(\.app)),
                        .ints(times.map { Int($0) }), .texts(texts("correlationid")), .texts(texts("causationid")),
                        .texts(batch.map { $0["data"].map { String(decoding: $0.jsonBytes, as: UTF8.self) } }),
                    ]))
        }
    }

    private func report(_ fixture: OpsFixture, _ query: String) async throws -> Report {
        let answer = try await fixture.get("/v1/reports?" + query)
        #expect(answer.status == 200, "\(answer.body.prefix(500))")
        return try Report(jsonBytes: Array(answer.body.utf8))
    }

    @Test func `the figures equal those of the simulation that wrote the log`() async throws {
        let (expected, log) = try await Self.simulation.value
        try await OpsFixture.run { fixture in
            try await write(log, to: fixture)
            let found = try await report(fixture, "from=\(expected.begin)&to=\(expected.until)")
            #expect(found.devices == expected.devices && found.events == expected.events)
            #expect(found.openingsByHour == expected.openingsByHour)
            #expect(found.refreshesByHour == expected.refreshesByHour)
            #expect(found.refreshAndTaskMillijoules == expected.refreshAndTaskMillijoules)
            #expect(found.bytes == expected.bytes)
            #expect(found.timeZone == "Europe/Berlin" && found.offsets == expected.offsets)
            #expect(found.states.jsonBytes == expected.states.jsonBytes)
            #expect(found.apps.map(\.id) == ["mail", "news"])
            for app in expected.apps {
                var own = try #require(found.apps.first { $0.id == app.id })
                var other = app
                // The log has no sends without a token.
                for index in other.pushes.indices { other.pushes[index].withoutToken = 0 }
                other.pushes.removeAll { $0.sent == 0 }
                own.pushes.sort { $0.content < $1.content }
                // JSON has the reasons in the order of their names.
                #expect(try JSON(parsing: own.jsonBytes) == JSON(parsing: other.jsonBytes), "\(app.id)")
            }
            let all = found.apps.flatMap(\.pushes)
            #expect(all.contains { $0.late > 0 } && all.contains { $0.never.count > 1 }, "the scenario has both")
            #expect(found.apps.contains { !$0.kills.isEmpty } && found.apps.contains { $0.transfersCompleted > 0 })

            let worst = Dictionary(uniqueKeysWithValues: found.pushes.map { ($0.notification, $0) })
            #expect(Set(worst.keys) == Set(expected.pushes.map(\.notification)))
            for push in expected.pushes { #expect(worst[push.notification] == push, "\(push.notification)") }
            let kinds = Set(found.pushes.flatMap { $0.steps.flatMap(\.reasons) }.map(\.reason))
            #expect(kinds.isSuperset(of: [.disconnection, .budget, .replacement]), "\(kinds)")
        }
    }

    @Test func `a rarer reason to be late has examples beside the latest pushes`() async throws {
        try await OpsFixture.run { fixture in
            let story = PushStory(fixture)
            for number in 0..<14 {
                let id = "n\(number)"
                try await story.receive(id, at: number, #""forUser":true"#)
                if number > 10 {
                    try await story.tell("notification.stored", id, at: number, "Stored – Device Offline")
                }
                try await story.tell(
                    "notification.acknowledged", id, at: number > 10 ? 30 + number : 200, "Acknowledged", arrived: true)
            }
            let range = "from=\(PushStory.start)&to=\(PushStory.start + .hours(1))"
            let pushes = try await report(fixture, range + "&lateAfter=10").pushes
            #expect(pushes.prefix(10).map(\.notification) == (0..<10).map { "n\($0)" })
            #expect(Set(pushes.dropFirst(10).map(\.notification)) == ["n11", "n12", "n13"])
            #expect(pushes.last?.why == "Stored – Device Offline")
        }
    }

    @Test func `the states of adjacent ranges add up to those of the whole range`() async throws {
        let (expected, log) = try await Self.simulation.value
        try await OpsFixture.run { fixture in
            try await write(log, to: fixture)
            let middle = expected.begin + .hours(31) + .minutes(17)
            func seconds(_ from: Instant, _ to: Instant) async throws -> [String: Int] {
                let states = try await report(fixture, "from=\(from)&to=\(to)").states
                return Dictionary(uniqueKeysWithValues: states.seconds.map { ($0.key, $0.value.reduce(0, +)) })
            }
            let whole = try await seconds(expected.begin, expected.until)
            let first = try await seconds(expected.begin, middle)
            let last = try await seconds(middle, expected.until)
            for (state, sum) in whole {
                let parts = (first[state] ?? 0) + (last[state] ?? 0)
                // Each step is rounded to a second.
                #expect(abs(parts - sum) < 300, "\(state): \(parts), \(sum)")
            }
        }
    }

    @Test func `a report has the devices of its fleet and comes as a page, JSON or CSV`() async throws {
        try await OpsFixture.run { fixture in
            let story = PushStory(fixture)
            try await story.register("phone", fleet: "lab")
            try await story.register("tablet", fleet: nil)
            for (device, id) in [("phone", "n1"), ("tablet", "n2"), ("phone", "n3")] {
                try await story.receive(id, at: 5, #""forUser":true"#, to: device)
            }
            try await story.tell("notification.acknowledged", "n1", at: 20, "Acknowledged", arrived: true)
            let range = "from=\(PushStory.start)&to=\(PushStory.start + .hours(1))"
            let lab = try await report(fixture, range + "&fleet=lab&lateAfter=10")
            #expect(lab.name == "Fleet lab" && lab.devices == 1 && lab.events == 4)
            let pushes = try #require(lab.apps.first?.pushes.first)
            #expect(pushes.sent == 2 && pushes.late == 1 && pushes.never == ["Still under way": 1])
            #expect(pushes.lateReasons == ["Device Answered Late": 1] && pushes.delaySeconds["p90"] == .seconds(15.0))
            #expect(try await report(fixture, range).apps.first?.pushes.first?.sent == 3)
            #expect(try await report(fixture, range + "&fleet=other").apps.isEmpty)

            for (headers, query) in [(["Accept": "text/html"], ""), ([:], "&format=html")] {
                let page = try await fixture.get("/v1/reports?\(range)&fleet=lab\(query)", headers)
                #expect(page.headers["content-type"] == "text/html; charset=utf-8")
                #expect(page.headers["content-security-policy"]?.hasPrefix("default-src 'none'") == true)
                #expect(page.body.contains("<h1>Fleet lab</h1>") && !page.body.contains("report.json"))
                #expect(page.body.contains("format=json"))
            }
            let csv = try await fixture.get("/v1/reports?\(range)&fleet=lab&format=csv")
            #expect(
                csv.body
                    == "app,content,verdict,why,count\r\nmail,alert,in time,,1\r\nmail,alert,never,Still under way,1\r\n"
            )
            #expect(try await fixture.get("/v1/reports", ["Accept": "image/png"]).code == "not_acceptable")
        }
    }

    @Test func `faults of the query are reported together`() async throws {
        try await OpsFixture.run { fixture in
            let answer = try await fixture.get(
                "/v1/reports?lateAfter=-1&format=pdf&from=2026-01-02T00:00:00Z&to=2026-01-01T00:00:00Z&colour=red")
            #expect(answer.status == 400 && answer.code == "invalid_query")
            #expect(answer.faults == ["/lateAfter", "/format", "/to", "/colour"])
            #expect(try await fixture.get("/v1/reports?from=2900-01-01T00:00:00Z").faults == ["/from"])
            #expect(try await fixture.get("/v1/reports", key: OpsFixture.otherKey).status == 403)
            #expect(try await fixture.get("/v1/reports").status == 200)
        }
    }
}
