import Foundation
import Postgres
import Records
import TestSupport
import Testing

@testable import OpsService

/// The current devices and apps, for any division of the events into batches.
@Suite("Known devices and apps", .tags(.database), .timeLimit(.minutes(5))) struct KnownAppsTests {
    private static let countEvents = Statement("SELECT ops.count_events($1, $2)")

    @Test func `known devices and apps equal the log for any batch size`() async throws {
        let seed = UInt64.random(in: 0...UInt64.max)
        try await OpsFixture.run { fixture in
            var random = SplitMix64(seed: seed)
            // The expected states, by device and app.
            var known: [String: [String: String]] = [:]
            for _ in 0..<300 {
                let device = "d\(Int.random(in: 0..<4, using: &random))"
                let app = "a\(Int.random(in: 0..<3, using: &random))"
                guard known[device] != nil else {
                    try await fixture.append(
                        "lifecycle.device.registered", to: device, data: #"{"registration":{"profile":"ios18"}}"#)
                    known[device] = [:]
                    continue
                }
                let state = ["active", "background", "suspended", "notRunning"].randomElement(using: &random)!
                switch Int.random(in: 0..<24, using: &random) {
                case 20, 21:
                    try await fixture.append("lifecycle.device.powered", to: device, data: #"{"power":"off"}"#)
                case 22:
                    try await fixture.append("lifecycle.device.powered", to: device, data: #"{"power":"on"}"#)
                case 23:
                    try await fixture.append(
                        "lifecycle.device.updated", to: device, data: #"{"registration":{"profile":"ios15"}}"#)
                case 0:
                    try await fixture.append("lifecycle.device.deregistered", to: device)
                    known[device] = nil
                case 1, 2:
                    guard known[device]?[app] != nil else { continue }
                    try await fixture.append("lifecycle.app.uninstalled", to: device, app: app)
                    known[device]?[app] = nil
                case 3...8:
                    try await fixture.append("lifecycle.app.installed", to: device, app: app)
                    if known[device]?[app] == nil { known[device]?[app] = "notRunning" }
                default:
                    guard known[device]?[app] != nil else { continue }
                    try await fixture.append(
                        "lifecycle.app.resigned", to: device, app: app, data: #"{"state":"\#(state)"}"#)
                    known[device]?[app] = state
                }
                guard Int.random(in: 0..<8, using: &random) == 0 else { continue }
                let partition = Int32.random(in: 0..<Int32(OpsFixture.partitions), using: &random)
                _ = try await fixture.pool.execute(
                    Query(Self.countEvents, [.int4(partition), .int4(Int32.random(in: 1...40, using: &random))]))
            }
            try await fixture.count()
            let rows = try await fixture.pool.execute(
                Query(Statement("SELECT ops.device(key), app, state FROM ops.known_apps ORDER BY 1, 2")))
            let found = try rows.decode((String, String, String).self).map { "\($0) \($1) \($2)" }
            let expected = known.flatMap { device, apps in apps.map { "\(device) \($0.key) \($0.value)" } }.sorted()
            #expect(found == expected, "seed \(seed)")
            let now = try await fixture.get("/v1/stats").json["now"]
            #expect(now?["devices"]?.int == known.count, "seed \(seed)")
            let counts = Dictionary(grouping: known.values.flatMap(\.values)) { $0 }.mapValues(\.count)
            let told = (now?["apps"]?.items ?? []).map { ($0["state"]?.string ?? "", $0["count"]?.int ?? 0) }
            #expect(Dictionary(told) { $1 } == counts, "seed \(seed)")

            // Batches of one event give the same result, with start times, power and registration times.
            let inBatches = try await fixture.known()
            try await fixture.sql("TRUNCATE ops.known_devices, ops.known_apps, ops.totals, ops.counts, ops.blocks")
            try await fixture.sql("UPDATE bus.readers SET log_offset = 0 WHERE reader = 'ops'")
            for partition in 0..<Int32(OpsFixture.partitions) {
                let one = Query(Self.countEvents, [.int4(partition), .int4(1)], rowsExpected: 1)
                while try await fixture.pool.execute(one)[0].decode(Int.self, at: 0) > 0 {}
            }
            #expect(try await fixture.known() == inBatches, "seed \(seed)")
        }
    }

    @Test func `retention does not drop uncounted events`() async throws {
        try await OpsFixture.run { fixture in
            try await fixture.append(to: "d1")
            try await fixture.sql("UPDATE bus.cursors SET log_offset = 1000")
            let readers = Statement("SELECT r FROM bus.day_readers(current_date) AS r")
            #expect(
                try await fixture.owner.execute(Query(readers)).map { try $0.decode(String.self, at: 0) } == ["ops"])
            try await fixture.count()
            #expect(try await fixture.owner.execute(Query(readers)).isEmpty)
            // Dropping a day deletes its counts.
            try await fixture.sql("UPDATE ops.counts SET day = current_date - 900 WHERE width = 60")
            try await fixture.count()
            let left = Statement("SELECT string_agg(DISTINCT width::text, ' ') FROM ops.counts")
            #expect(try await fixture.owner.execute(Query(left))[0].decode(String.self, at: 0) == "3600 86400")
            // More counts than one call deletes.
            try await fixture.sql("UPDATE ops.counts SET day = current_date - 900")
            try await fixture.sql(
                """
                INSERT INTO ops.counts SELECT 0, 60, n * 60, 'x.y.z', '', current_date - 900, 1, 0
                FROM generate_series(1, 20001) AS n
                """)
            try await fixture.count()
            let all = Statement("SELECT count(*)::int8 FROM ops.counts")
            #expect(try await fixture.owner.execute(Query(all))[0].decode(Int.self, at: 0) == 0)
        }
    }
}

extension OpsFixture {
    /// Returns all rows of devices and apps.
    fileprivate func known() async throws -> [String] {
        let all = Statement(
            """
            SELECT d::text FROM ops.known_devices AS d UNION ALL SELECT a::text FROM ops.known_apps AS a
            UNION ALL SELECT t::text FROM ops.totals AS t WHERE total <> 0 ORDER BY 1
            """)
        return try await owner.execute(Query(all)).map { try $0.decode(String.self, at: 0) }
    }
}
