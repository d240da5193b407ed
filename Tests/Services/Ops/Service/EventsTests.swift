import Contracts
import EventLog
import Foundation
import Records
import Telemetry
import TestSupport
import Testing
import Timeline

@testable import OpsService

@Suite("Events over HTTP", .tags(.database), .timeLimit(.minutes(5))) struct EventsTests {
    @Test(arguments: ["oldest", "newest"]) func `pages contain every event once`(_ order: String) async throws {
        try await OpsFixture.run { fixture in
            var ids: Set<String> = []
            for number in 0..<25 { ids.insert(try await fixture.append(to: "d\(number)").uuidString.lowercased()) }
            var seen: [String] = []
            var next: String?
            repeat {
                let cursor = next.map { "&cursor=\($0)" } ?? ""
                let answer = try await fixture.get("/v1/events?order=\(order)&limit=10\(cursor)")
                #expect(answer.status == 200 && answer.headers["content-type"] == "application/json")
                seen += answer.items.compactMap { $0["id"]?.string }
                next = answer.json["next"]?.string
                #expect((answer.headers["link"] != nil) == (next != nil))
            } while next != nil
            #expect(seen.count == 25 && Set(seen) == ids)
        }
    }

    @Test func `filters can be combined`() async throws {
        try await OpsFixture.run { fixture in
            let wanted = try await fixture.append("lifecycle.app.woken", to: "a", app: "com.example")
            try await fixture.append("lifecycle.app.woken", to: "a", app: "com.other")
            try await fixture.append("lifecycle.app.woken", to: "b", app: "com.example")
            try await fixture.append("fetch.refresh.due", to: "a", app: "com.example")
            let answer = try await fixture.get(
                "/v1/events?type=lifecycle.app.woken,fetch.task.due&service=lifecycle&device=a&app=com.example&since=2020-01-01T00:00:00Z"
            )
            #expect(answer.items.map { $0["id"]?.string } == [wanted.uuidString.lowercased()])
            #expect(try await fixture.get("/v1/events?until=2020-01-01T00:00:00Z").items.isEmpty)
        }
    }

    @Test func `every invalid parameter of a query is reported`() async throws {
        try await OpsFixture.run { fixture in
            let answer = try await fixture.get(
                "/v1/events?limit=0&order=up&since=yesterday&device=a%2Fb&cause=1&cursor=zz&colour=red&type=")
            #expect(answer.status == 400 && answer.code == "invalid_query")
            #expect(
                Set(answer.faults) == [
                    "/limit", "/order", "/since", "/device", "/cause", "/cursor", "/colour", "/type",
                ])
            let twice = try await fixture.get("/v1/events?limit=5&limit=6")
            #expect(twice.faults == ["/limit"])
            let order = try await fixture.get("/v1/events?since=2026-01-02T00:00:00Z&until=2026-01-01T00:00:00Z")
            #expect(order.faults == ["/until"])
        }
    }

    @Test func `a cursor is valid only for its own feed`() async throws {
        try await OpsFixture.run { fixture in
            for number in 0..<3 { try await fixture.append(to: "d\(number)") }
            let cursor = try #require(try await fixture.get("/v1/events?limit=1").json["next"]?.string)
            #expect(try await fixture.get("/v1/events?limit=1&order=oldest&cursor=\(cursor)").faults == ["/cursor"])
            #expect(try await fixture.get("/v1/events?limit=1&device=d1&cursor=\(cursor)").faults == ["/cursor"])
        }
    }

    @Test func `a page goes on after the position of an earlier one`() async throws {
        try await OpsFixture.run { fixture in
            for number in 0..<3 { try await fixture.append(to: "d\(number)") }
            let first = try await fixture.get("/v1/events?order=oldest")
            #expect(first.items.count == 3 && first.json["next"] == .null)
            let position = try #require(first.headers["dormouse-position"])
            #expect(try await fixture.get("/v1/events?order=oldest&after=\(position)").items.isEmpty)
            let newer = try await fixture.append(to: "d1")
            let second = try await fixture.get("/v1/events?order=oldest&after=\(position)")
            #expect(second.items.map { $0["id"]?.string } == [newer.uuidString.lowercased()])
            #expect(try await fixture.get("/v1/events?order=newest&after=\(position)").faults == ["/after"])
            #expect(try await fixture.get("/v1/events?order=oldest&after=x").faults == ["/after"])
        }
    }

    @Test func `Accept selects the media type`() async throws {
        try await OpsFixture.run { fixture in
            try await fixture.append(to: "a", data: #"{"said":"a \"b\", c"}"#)
            try await fixture.append(to: "b")
            let batch = try await fixture.get(
                "/v1/events?order=oldest&limit=1", ["Accept": "application/cloudevents-batch+json"])
            #expect(batch.headers["content-type"] == "application/cloudevents-batch+json")
            #expect(batch.json.items?.first?["specversion"] == "1.0")
            let link = try #require(batch.headers["link"])
            let path = try #require(link.split(separator: ">").first?.dropFirst())
            #expect(try await fixture.get(String(path)).items.count == 1)

            let lines = try await fixture.get("/v1/events", ["Accept": "application/x-ndjson;q=0.9, text/html"])
            #expect(lines.headers["content-type"] == "application/x-ndjson")
            #expect(lines.body.split(separator: "\n").count == 2)

            let csv = try await fixture.get("/v1/events?device=a", ["Accept": "text/csv"])
            let rows = csv.body.split(separator: "\r\n")
            #expect(rows.count == 2 && rows[0].hasPrefix("partition,offset,id,time"))
            #expect(rows[1].hasSuffix(#""{""said"":""a \""b\"", c""}""#))

            #expect(try await fixture.get("/v1/events", ["Accept": "image/png"]).code == "not_acceptable")
            #expect(try await fixture.get("/v1/events", ["Accept": "*/*"]).json["items"] != nil)
        }
    }

    @Test func `an event has its causes and its effects`() async throws {
        try await OpsFixture.run { fixture in
            let first = try await fixture.append("push.notification.accepted", to: "a")
            let second = try await fixture.append("push.wake.requested", to: "a", correlation: first, causation: first)
            let third = try await fixture.append("lifecycle.app.woken", to: "b", correlation: first, causation: second)
            let id = second.uuidString.lowercased()
            let event = try await fixture.get("/v1/events/\(id)")
            #expect(event.json["type"] == "push.wake.requested")
            let place = "\(event.json["partition"]?.int ?? -1):\(event.json["offset"]?.string ?? "")"
            #expect(try await fixture.get("/v1/events/\(place)").json == event.json)
            let chain = try await fixture.get("/v1/events/\(id)/causes").json
            #expect(chain["event"] == event.json)
            #expect(chain["causes"]?.items?.map { $0["id"]?.string } == [first.uuidString.lowercased()])
            #expect(chain["effects"]?.items?.map { $0["id"]?.string } == [third.uuidString.lowercased()])
            for unknown in ["7:1", "0:99", "nothing", "00000000-0000-0000-0000-000000000000"] {
                #expect(try await fixture.get("/v1/events/\(unknown)").code == "not_found")
            }
            #expect(try await fixture.get("/v1/events/a%20b").code == "invalid_identifier")
        }
    }

    @Test func `a timeline has the summary of each event type`() async throws {
        try await OpsFixture.run { fixture in
            try await fixture.append(
                "push.wake.requested", to: "a", app: "com.example", data: #"{"app":"com.example"}"#)
            try await fixture.append("lifecycle.app.woken", to: "b")
            let answer = try await fixture.get("/v1/devices/a/timeline")
            #expect(answer.items.count == 1)
            #expect(answer.items[0]["summary"]?.string?.contains("to wake an app") == true)
            #expect(answer.items[0]["data"] == ["app": "com.example"])
            #expect(try await fixture.get("/v1/devices/a/timeline?device=b").faults == ["/device"])
        }
    }

    @Test func `a cursor behind retention gets 410`() async throws {
        try await OpsFixture.run { fixture in
            for _ in 0..<3 { try await fixture.append(to: "a") }
            let cursor = try #require(
                try await fixture.get("/v1/events?device=a&order=oldest&limit=1").json["next"]?.string)
            try await fixture.sql(
                "INSERT INTO bus.retention SELECT partition, 2 FROM bus.partitions WHERE head = 3")
            let gone = try await fixture.get("/v1/events?device=a&order=oldest&limit=1&cursor=\(cursor)")
            #expect(gone.status == 410 && gone.code == "beyond_retention")
        }
    }

    @Test func `a reader that retention overtakes gets an error`() async throws {
        try await OpsFixture.run { fixture in
            // More events than one read returns.
            for _ in 0..<501 { try await fixture.append(to: "a") }
            let partition = AggregateKey.device("a").partition(of: OpsFixture.partitions)
            for stream in [
                fixture.tail.events(of: .device("a"), after: 0), fixture.tail.events(in: [partition: 0]),
            ] {
                try await fixture.sql("DELETE FROM bus.retention")
                var events = stream.makeAsyncIterator()
                _ = try await events.next()
                try await fixture.sql("INSERT INTO bus.retention VALUES (\(partition), 501)")
                for _ in 0..<499 { _ = try await events.next() }
                await #expect(throws: TailError.beyondRetention) { try await events.next() }
            }
        }
    }

    @Test func `the lag of each consumer is a metric`() async throws {
        try await OpsFixture.run { fixture in
            let metrics = Metrics()
            let gauge = LagGauge(
                queries: LogQueries(pool: fixture.pool, partitions: OpsFixture.partitions), metrics: metrics,
                retentionDays: 30)
            var named: Set<String> = []
            func told(_ name: String = "lag") -> [String] {
                metrics.text.split(separator: "\n").filter { $0.hasPrefix("dormouse_consumer_\(name){") }.map(
                    String.init)
            }
            for _ in 0..<3 { try await fixture.append(to: "a") }
            try await fixture.sql("UPDATE bus.events SET appended_at = clock_timestamp() - interval '1 hour'")
            await gauge.note(&named)
            #expect(told() == [#"dormouse_consumer_lag{consumer="counter"} 3"#])
            let age = told("age_seconds").first?.split(separator: " ").last.flatMap { Double($0) } ?? 0
            #expect((3600..<4200).contains(age))
            try await fixture.sql("DELETE FROM bus.cursors WHERE consumer = 'counter'")
            await gauge.note(&named)
            #expect(told() == [#"dormouse_consumer_lag{consumer="counter"} 0"#])
            #expect(told("age_seconds") == [#"dormouse_consumer_age_seconds{consumer="counter"} 0"#])
        }
    }

    @Test func `the age of a waiting event has a metric at any clock time`() async throws {
        try await OpsFixture.run { fixture in
            let metrics = Metrics()
            let gauge = LagGauge(
                queries: LogQueries(pool: fixture.pool, partitions: OpsFixture.partitions), metrics: metrics,
                retentionDays: 30, clock: ManualClock(Instant(milliseconds: .max)))
            try await fixture.append(to: "a")
            try await fixture.sql("UPDATE bus.events SET appended_at = '1960-01-01T00:00:00Z'")
            var named: Set<String> = []
            await gauge.note(&named)
            #expect(metrics.text.contains(#"dormouse_consumer_age_seconds{consumer="counter"} "#))
        }
    }

    @Test func `an event with an impossible time is shown at the nearest end of the calendar`() async throws {
        try await OpsFixture.run { fixture in
            try await fixture.append(to: "a")
            for (time, shown) in [(-1, "1970-01-01T00:00:00.000Z"), (253_402_300_800_000, "9999-12-31T23:59:59.999Z")] {
                try await fixture.sql("UPDATE bus.events SET time = '\(time)'")
                let events = try await fixture.get("/v1/events").items
                #expect(events.map { $0["time"]?.string } == [shown])
            }
        }
    }

    @Test func `dead letters are listed`() async throws {
        try await OpsFixture.run { fixture in
            try await fixture.sql(
                """
                INSERT INTO bus.dead_letters (partition, consumer, key, log_offset, due, reason) VALUES
                    (0, 'counter', 'device:a', 0, 1000, 'overflow'), (0, 'counter', 'device:a', 7, NULL, NULL)
                """)
            let letters = try await fixture.get("/v1/dead-letters?service=counter").items
            #expect(letters.map { $0["position"] } == [.null, "0:7"])
            #expect(letters.map { $0["reason"] } == ["overflow", .null])
            #expect(letters[0]["due"] == "1970-01-01T00:00:01.000Z")
            #expect(try await fixture.get("/v1/dead-letters?service=push").items.isEmpty)
        }
    }

    @Test(arguments: OpsFixture.incarnations) func `pages contain every dead letter once`(
        of incarnation: LogIncarnation
    ) async throws {
        try await OpsFixture.run(incarnation: incarnation) { fixture in
            try await fixture.sql(
                """
                INSERT INTO bus.dead_letters (partition, consumer, key, log_offset)
                SELECT n % 3, CASE WHEN n % 2 = 0 THEN 'counter' ELSE 'push' END, 'device:a/' || n, n
                FROM generate_series(1, 50) AS n
                """)
            for (filter, count) in [("", 50), ("service=push&", 25)] {
                var keys: [String] = []
                var cursor = ""
                repeat {
                    let page = try await fixture.get("/v1/dead-letters?\(filter)limit=7\(cursor)")
                    keys += page.items.compactMap { $0["key"]?.string }
                    cursor = page.json["next"]?.string.map { "&cursor=\($0)" } ?? ""
                } while !cursor.isEmpty
                #expect(keys.count == count && Set(keys).count == count)
            }
            try await fixture.expectPlaces(of: incarnation, in: "/v1/dead-letters")
            for wrong in ["cursor=x", "limit=0", "limit=1001", "service=a/b", "servise=push"] {
                #expect(try await fixture.get("/v1/dead-letters?\(wrong)").code == "invalid_query", "\(wrong)")
            }
        }
    }

    @Test func `a request without a valid credential is refused`() async throws {
        try await OpsFixture.run { fixture in
            for path in [
                "/v1/events", "/v1/events/stream", "/v1/events/0:1", "/v1/events/0:1/causes", "/v1/devices/a/timeline",
                "/v1/consumers", "/v1/log/check", "/v1/dead-letters", "/v1/clock", "/v1/audit", "/v1/pushes",
                "/v1/pushes/n1", "/v1/stats",
            ] {
                let nobody = try await fixture.get(path, key: nil)
                let stranger = try await fixture.get(path, key: "wrong")
                #expect(nobody.code == "unauthenticated" && stranger.code == "invalid_credential")
            }
        }
    }

    @Test func `the lag of consumers and gaps in the log are reported`() async throws {
        try await OpsFixture.run { fixture in
            for _ in 0..<4 { try await fixture.append(to: "a") }
            let consumers = try await fixture.get("/v1/consumers").items
            #expect(consumers.map { $0["name"]?.string } == ["counter"])
            #expect(consumers.first?["lag"] == 4)
            #expect(consumers.first?["waitingSince"]?.string != nil)
            #expect(try await fixture.get("/v1/log/check").json["dense"] == true)
            try await fixture.sql("DELETE FROM bus.events WHERE log_offset = 2")
            let check = try await fixture.get("/v1/log/check").json
            #expect(check["dense"] == false)
            #expect(check["partitions"]?.items?.flatMap { $0["faults"]?.items ?? [] } == ["1-4"])
            #expect(try await fixture.get("/v1/log/check?partition=9").code == "invalid_query")
        }
    }
}
