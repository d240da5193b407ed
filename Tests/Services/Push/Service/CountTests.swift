import Contracts
import Foundation
import Logging
import Postgres
import Records
import Telemetry
import TestSupport
import Testing
import Timeline

@testable import PushService

@Suite(.tags(.database, .processes), .timeLimit(.minutes(4))) struct CountTests {
    /// Two processes and two loops of the test count at once, and one process is killed meanwhile.
    @Test func `each status is counted once by concurrent processes`() async throws {
        try await PushSuite.run { suite in
            let tokens = [try await suite.makeDevice("one"), try await suite.makeDevice("two")]
            let stream = try await DeviceStream(suite, "two")
            let database = try Database(suite)
            let metrics = Metrics()
            let counts = NotificationCounts(
                store: PushStore(pool: database.pool, partitions: 4), metrics: metrics, logger: Logger(label: "test"))
            try await withThrowingTaskGroup { group in
                for _ in 1...2 {
                    group.addTask { while !Task.isCancelled { _ = try? await counts.round() } }
                }
                try await suite.withReplica { _ in
                    for number in 0..<40 { try await send(suite, tokens[number % 2], number) }
                }
                for number in 40..<50 { try await send(suite, tokens[number % 2], number) }
                group.cancelAll()
                try await group.waitForAll()
            }
            let log = """
                SELECT concat_ws('|', time / 3600000, app, data ->> 'pushType',
                    coalesce(data ->> 'status', 'Wake Requested'), count(*))
                FROM bus.events WHERE type LIKE 'push.notification.%' OR type LIKE 'push.wake.%'
                GROUP BY time / 3600000, app, data ->> 'pushType', coalesce(data ->> 'status', 'Wake Requested')
                """
            let counted = """
                SELECT concat_ws('|', hour, app, push_type, status, sum(n))
                FROM push.notification_counts GROUP BY hour, app, push_type, status
                """
            try await eventually(describe: "all statuses are counted") {
                let (left, right) = (try await database.texts(log), try await database.texts(counted))
                return !left.isEmpty && left.sorted() == right.sorted()
            }
            // A further round counts nothing twice.
            _ = try await counts.round()
            #expect(try await database.texts(log).sorted() == database.texts(counted).sorted())
            try await look(suite, tokens[0])
            _ = stream
        }
    }

    @Test func `a status counts to the fleet of its device at that time, for any batches`() async throws {
        try await PushSuite.run { suite in
            let database = try Database(suite)
            let token = try await suite.makeDevice("mover", fleet: "blue")
            let other = try await suite.makeDevice("stayer", fleet: "blue")
            for round in 1...3 {
                for token in [token, other] {
                    #expect(try await suite.notify(token, ["aps": ["alert": "x"]]).status == 200)
                }
                // The counts may end between any two of these events.
                let fleet: JSON = round == 1 ? "red" : .null
                let moved = try await suite.send(
                    "PUT", "/v1/devices/mover", ["profile": "ios18", "fleet": fleet], port: suite.lifecycle)
                try await suite.send("GET", "/v1/devices/mover/apps/\(PushSuite.app)/tokens", after: moved)
            }
            try await eventually(describe: "all statuses are counted") {
                let received =
                    "SELECT coalesce(sum(n), 0)::text FROM push.notification_counts WHERE status = 'Received'"
                return try await database.texts(received) == ["6"]
            }
            for (fleet, count) in [("blue", 4), ("red", 1), ("green", 0)] {
                let path = "/v1/metrics/notifications?fleet=\(fleet)"
                let items = try await suite.send("GET", path).json["items"]?.items ?? []
                let received = items.filter { $0["status"]?.string == "Received" }
                #expect(received.reduce(0) { $0 + ($1["count"]?.int ?? 0) } == count, "\(fleet)")
            }
            let rest = "SELECT key || ' ' || fleet FROM push.device_fleets"
            #expect(try await database.texts(rest) == ["device:stayer blue"])
        }
    }

    private func send(_ suite: PushSuite, _ token: String, _ number: Int) async throws {
        let payload: JSON = number % 5 == 0 ? ["aps": ["content-available": 1]] : ["aps": ["alert": "x"]]
        let headers = number % 5 == 0 ? ["apns-push-type": "background", "apns-priority": "5"] : [:]
        #expect(try await suite.notify(token, payload, headers).status == 200)
    }

    private func look(_ suite: PushSuite, _ token: String) async throws {
        let path = "/v1/metrics/notifications"
        let all = try await suite.send("GET", path).json["items"]?.items ?? []
        let received = all.filter { $0["status"]?.string == "Received" }
        #expect(received.compactMap { $0["count"]?.int }.reduce(0, +) == 50)
        #expect(Set(received.compactMap { $0["pushType"]?.string }) == ["alert", "background"])
        let hour = Instant(try #require(received.first?["hour"]?.string))
        #expect(hour.map { $0.milliseconds % 3_600_000 } == 0)
        let silent =
            try await suite.send("GET", path + "?type=background&app=com.example.app").json["items"]?.items ?? []
        #expect(silent.first { $0["status"]?.string == "Received" }?["count"]?.int == 10)
        #expect(try await suite.send("GET", path + "?app=other").json["items"]?.items == [])
        let past = "?from=2020-01-01T00:00:00Z&to=2020-01-02T00:00:00Z"
        #expect(try await suite.send("GET", path + past).json["items"]?.items == [])
        for wrong in [
            "?type=sms", "?from=now", "?from=2020-01-01T00:00:00Z",
            "?from=2020-01-03T00:00:00Z&to=2020-01-02T00:00:00Z",
        ] {
            #expect(try await suite.send("GET", path + wrong).code == "invalid_query", "\(wrong)")
        }
        // Only the suite's own process counts now.
        #expect(try await suite.notify(token, ["aps": ["alert": "x"]]).status == 200)
        try await eventually(describe: "the metric counts the notification") {
            try await suite.text("/metrics").contains("dormouse_push_notifications_total{status=\"Received\"}")
        }
    }
}
