import Contracts
import EventLog
import Foundation
import MachineTesting
import Machines
import Postgres
import RandomScenarios
import Records
import TestSupport
import Testing
import Timeline

@testable import OpsService

/// The rows of notifications, for random lives of a device and any division of the events into batches.
@Suite("The view pushes", .tags(.database), .timeLimit(.minutes(5))) struct PushRowTests {
    private static let countEvents = Statement("SELECT ops.count_events($1, $2)")

    @Test func `the rows equal the fold of the events for any batch size`() async throws {
        let seed = UInt64.random(in: 0...UInt64.max)
        try await OpsFixture.run { fixture in
            var random = SplitMix64(seed: seed)
            var life = try PushLife(random)
            for _ in 0..<300 { try life.step() }
            var outcomes = PushOutcomes()
            let key = PushLife.key
            let partition = Int32(key.partition(of: OpsFixture.partitions))
            for (index, logged) in life.runtime.log.enumerated() {
                var event = ForeignEvent(
                    logged.type, to: key.device ?? "", app: logged.app, at: logged.time,
                    data: String(decoding: logged.data, as: UTF8.self))
                event.id = logged.id
                try await fixture.owner.append(event, partitions: OpsFixture.partitions, wakesUp: false)
                var placed = logged
                placed.offset = index + 1
                try outcomes.apply(placed)
                guard Int.random(in: 0..<20, using: &random) == 0 else { continue }
                _ = try await fixture.pool.execute(
                    Query(Self.countEvents, [.int4(partition), .int4(Int32.random(in: 1...40, using: &random))]))
            }
            try await fixture.count()
            let expected = outcomes.all.map { id, outcome in
                let verdict = outcome.arrivedAt.map { $0 - outcome.sentAt > .seconds(30) ? "late" : "inTime" }
                return Row(
                    id: id, offset: outcome.offset, status: outcome.status, event: outcome.event, wait: outcome.wait,
                    arrivedAt: outcome.arrivedAt, shownAt: outcome.shownAt, wokeAt: outcome.wokeAt,
                    verdict: verdict ?? (outcome.isOver ? "never" : "pending"))
            }
            let found = try await Self.rows(fixture)
            #expect(!found.isEmpty, "seed \(seed)")
            #expect(found == expected, "seed \(seed)")

            // Batches of one event give the same result.
            try await fixture.sql(
                "TRUNCATE ops.known_devices, ops.known_apps, ops.known_pushes, ops.totals, ops.counts")
            try await fixture.sql("TRUNCATE ops.blocks, ops.block_types, ops.block_groups")
            try await fixture.sql("UPDATE bus.readers SET log_offset = 0 WHERE reader = 'ops'")
            let one = Query(Self.countEvents, [.int4(partition), .int4(1)], rowsExpected: 1)
            while try await fixture.pool.execute(one)[0].decode(Int.self, at: 0) > 0 {}
            #expect(try await Self.rows(fixture) == expected, "seed \(seed)")
        }
    }

    private struct Row: Equatable {
        let id: String
        let offset: Int
        let status: String
        let event: UUID
        let wait: String?
        let arrivedAt: Instant?
        let shownAt: Instant?
        let wokeAt: Instant?
        let verdict: String
    }

    private static func rows(_ fixture: OpsFixture) async throws -> [Row] {
        let all = Statement(
            """
            SELECT k.notification, k.log_offset, k.status, k.event, k.wait, k.arrived_at, k.shown_at, k.woke_at, p.verdict
            FROM ops.known_pushes AS k JOIN ops.pushes AS p USING (partition, notification) ORDER BY k.log_offset
            """)
        return try await fixture.owner.execute(Query(all)).decode(
            (String, Int, String, UUID, String?, Instant?, Instant?, Instant?, String).self
        ).map { id, offset, status, event, wait, arrivedAt, shownAt, wokeAt, verdict in
            Row(
                id: id, offset: offset, status: status, event: event, wait: wait, arrivedAt: arrivedAt,
                shownAt: shownAt, wokeAt: wokeAt, verdict: verdict)
        }
    }
}
