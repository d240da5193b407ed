import Contracts
import Foundation
import Machines
@testable import Postgres
import Records
import TestSupport
import Testing

@testable import PushService

/// A device with very many events.
@Suite(.tags(.database, .processes), .timeLimit(.minutes(4))) struct TimelineTests {
    private static let noise = 24_000

    @Test func `a timeline reads only its own events`() async throws {
        try await PushSuite.run { suite in
            let token = try await suite.makeDevice("phone")
            let sent = try await suite.notify(token, ["aps": ["alert": "first"]])
            let id = try #require(sent.headers["apns-unique-id"])
            let apnsID = try #require(sent.headers["apns-id"])
            let partition = AggregateKey.device("phone").partition(of: 4)
            let database = try Database(suite)
            try await makeNoise(database, partition)
            let next = try #require(try await suite.notify(token, ["aps": ["alert": "x"]]).headers["apns-unique-id"])

            for name in [id, apnsID] {
                let timeline = try await suite.send("GET", "/v1/notifications/\(name)").json
                #expect(timeline["id"]?.string == id && timeline["apnsID"]?.string == apnsID)
                let words = timeline["statuses"]?.items?.compactMap { $0["status"]?.string }
                #expect(words == ["Received", "Stored – Device Offline", "Replaced By"])
            }
            // With and without statistics of the planner.
            for analyzed in [false, true] {
                if analyzed { _ = try await database.texts("ANALYZE bus.events") }
                let history = try await rows(
                    database, PushStore.notificationEvents, "integer, text", "\(partition), '\(id)'")
                #expect(history == 3)
                let received = try await rows(
                    database, PushStore.receivedWithID, "integer, uuid", "\(partition), '\(apnsID)'")
                #expect((1...3).contains(received))
                let last = try await rows(
                    database, PushStore.lastStatuses, "integer, text[], text[]",
                    "\(partition), '{\(id),\(next)}', '{push.notification.received,push.notification.replaced}'")
                #expect((4...6).contains(last))
                let window = try await rows(
                    database, PushStore.receivedOfApp, "integer, text, bigint, text, integer",
                    "\(partition), 'device:phone', \(Int.max), 'com.example.app', 200")
                #expect(window == PushStore.historyWindow)
            }
            // Each page searches a bounded part of the log.
            var found: [String] = []
            var requests = 0
            var cursor: String? = ""
            while let place = cursor, requests < 20 {
                requests += 1
                let page = try await suite.send(
                    "GET",
                    "/v1/devices/phone/apps/com.example.app/notifications?limit=5"
                        + (place.isEmpty ? "" : "&cursor=\(place)")
                ).json
                found += page["items"]?.items?.compactMap { $0["id"]?.string } ?? []
                cursor = page["next"]?.string
            }
            #expect(found == [next, id])
            #expect(requests == 2)
        }
    }

    /// Adds many events of one app without a new notification.
    private func makeNoise(_ database: Database, _ partition: Int) async throws {
        _ = try await database.texts(
            """
            WITH head AS (
                UPDATE bus.partitions SET head = head + \(Self.noise) WHERE partition = \(partition)
                RETURNING head - \(Self.noise) AS base, day)
            INSERT INTO bus.events (partition, log_offset, day, id, source, type, version, key, app, time, correlationid, data)
            SELECT \(partition), base + n, greatest(day, current_date), gen_random_uuid(), 'push',
                'push.notification.acknowledged', 1, 'device:phone', 'com.example.other',
                (extract(epoch FROM clock_timestamp()) * 1000)::int8, gen_random_uuid(),
                json_build_object('app', 'com.example.other', 'arrived', true, 'notification', gen_random_uuid(),
                    'pushType', 'alert', 'status', 'Acknowledged')
            FROM head, generate_series(1, \(Self.noise)) AS n
            """)
    }

    /// Returns how many rows of the log a statement reads with a generic plan.
    private func rows(
        _ database: Database, _ statement: Statement, _ types: String, _ parameters: String
    ) async throws -> Int {
        let plan = try await database.pool.transaction { connection in
            for sql in [
                "SET LOCAL plan_cache_mode = force_generic_plan",
                "PREPARE asked (\(types)) AS \(statement.sql)",
            ] { _ = try await connection.execute(Query(Statement(sql))) }
            let explain = "EXPLAIN (ANALYZE, TIMING OFF, FORMAT JSON) EXECUTE asked (\(parameters))"
            let rows = try await connection.execute(Query(Statement(explain)))
            _ = try await connection.execute(Query(Statement("DEALLOCATE asked")))
            return try rows.map { try $0.decode(String.self, at: 0) }.joined()
        }
        return count(try JSON(parsing: Array(plan.utf8)))
    }

    private func count(_ plan: JSON) -> Int {
        if let items = plan.items { return items.reduce(0) { $0 + count($1) } }
        let inner = ["Plan", "Plans"].compactMap { plan[$0] }.reduce(0) { $0 + count($1) }
        guard plan["Relation Name"] != nil else { return inner }
        let passed = (plan["Actual Rows"]?.int ?? 0) + (plan["Rows Removed by Filter"]?.int ?? 0)
        return inner + passed * (plan["Actual Loops"]?.int ?? 1)
    }
}
