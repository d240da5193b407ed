import Contracts
import EventLog
import Foundation
import Postgres
import TestSupport
import Testing

@testable import Runtime

/// Operators' orders about parked devices, repeated after a lost answer.
@Suite(.tags(.database)) struct ReleaseTests {
    private let first = Idempotency(key: "first", fingerprint: [1])
    private let second = Idempotency(key: "second", fingerprint: [1])

    @Test func `a repeated discard removes one event`() async throws {
        try await withParked(heavy, heavy, light) { fixture, runtime, _, pings async throws in
            // The first event is removed, and the order fails at the second. The operator may not know this progress.
            for _ in 1...3 {
                await #expect(throws: DeadLetterError.self) { try await runtime.discard(.device("a"), first) }
                #expect(try await runtime.deadLetters().map(\.offset) == [2, 3])
            }
            #expect(try await runtime.discard(.device("a"), second) == 1)
            #expect(try await fixture.causes() == [pings[2]])
            // Another order has finished the rest of the first one.
            #expect(try await runtime.discard(.device("a"), first) == 0)
            // The device is parked again. Finished orders do not affect this.
            try await park(fixture, runtime)
            #expect(try await runtime.discard(.device("a"), first) == 0)
            #expect(try await runtime.discard(.device("a"), second) == 1)
            #expect(try await runtime.deadLetters().count == 1)
        }
    }

    @Test func `a repeated order continues and counts its earlier letters`() async throws {
        try await withParked(heavy, light, heavy, light) { fixture, runtime, faults, pings async throws in
            await #expect(throws: DeadLetterError.self) { try await runtime.discard(.device("a"), first) }
            #expect(try await runtime.deadLetters().map(\.offset) == [3, 4])
            faults.mend()
            #expect(try await runtime.discard(.device("a"), first) == 3)
            #expect(try await runtime.discard(.device("a"), first) == 3)
            #expect(try await fixture.causes() == Array(pings.dropFirst()))
        }
    }

    @Test func `a repeated replay processes no more letters`() async throws {
        try await withParked(heavy, light) { fixture, runtime, faults, pings async throws in
            await #expect(throws: DeadLetterError.self) { try await runtime.replay(.device("a"), first) }
            faults.mend()
            #expect(try await runtime.replay(.device("a"), first) == 2)
            faults.breakAgain()
            try await park(fixture, runtime)
            faults.mend()
            #expect(try await runtime.replay(.device("a"), first) == 2)
            #expect(try await runtime.deadLetters().count == 1)
            #expect(try await runtime.replay(.device("a"), second) == 1)
            #expect(try await fixture.causes().prefix(2) == pings[...])
        }
    }

    @Test func `an idempotency key identifies one order`() async throws {
        try await withParked(heavy, light) { _, runtime, _, _ async throws in
            #expect(try await runtime.discard(.device("a"), first) == 1)
            await #expect(throws: IdempotencyConflict()) {
                try await runtime.replay(.device("a"), Idempotency(key: first.key, fingerprint: [2]))
            }
        }
    }

    @Test func `of simultaneous orders with one key only one removes an event`() async throws {
        try await withParked(heavy, heavy, light) { _, runtime, _, _ async throws in
            await withTaskGroup(of: Void.self) { group in
                for _ in 0..<6 {
                    group.addTask {
                        // Each fails at the second event.
                        await #expect(throws: DeadLetterError.self) {
                            try await runtime.discard(.device("a"), first)
                        }
                    }
                }
            }
            #expect(try await runtime.deadLetters().map(\.offset) == [2, 3])
        }
    }

    @Test func `a dead letter does not keep its day from being dropped, and its event can still be replayed`()
        async throws
    {
        try await withParked(heavy, light) { fixture, runtime, faults, pings async throws in
            try await fixture.moveToDay(31, device: "a")
            for days in [15, 0] {
                let ping = try await fixture.append(to: "b")
                try await eventuallyTrue { try await fixture.causes().contains(ping) }
                try await fixture.moveToDay(days, device: "b")
            }
            let maintenance = LogMaintenance(pool: fixture.pool, retentionDays: 30, logger: fixture.logger)
            #expect(try await maintenance.round()?.dropped.count == 1)
            #expect(try await fixture.log().allSatisfy { $0.key == .device("b") })
            faults.mend()
            #expect(try await runtime.replay(.device("a")) == 2)
            #expect(try await fixture.causes().suffix(2) == pings[...])
            let kept = Statement("SELECT count(*) FROM bus.kept_events")
            #expect(try await fixture.pool.execute(Query(kept))[0].decode(Int.self, at: 0) == 2)
            _ = try await maintenance.round()
            #expect(try await fixture.pool.execute(Query(kept))[0].decode(Int.self, at: 0) == 0)
        }
    }

    /// The letter's removal and the order's record commit together or not at all.
    @Test(arguments: ["INSERT ON bus.idempotency", "DELETE ON bus.dead_letters", "UPDATE ON bus.idempotency"])
    func `an order is recorded together with its effect`(_ failing: String) async throws {
        try await withParked(heavy) { fixture, runtime, _, _ async throws in
            try await fixture.cluster.sql(
                """
                CREATE FUNCTION public.fail() RETURNS trigger LANGUAGE plpgsql AS
                    $$ BEGIN RAISE EXCEPTION 'not now'; END $$;
                CREATE TRIGGER fails BEFORE \(failing) FOR EACH ROW EXECUTE FUNCTION public.fail();
                """, database: fixture.database)
            await #expect(throws: (any Error).self) { try await runtime.discard(.device("a"), first) }
            #expect(try await runtime.deadLetters().count == 1)
            #expect(try await fixture.pool.execute(Query(Statement("SELECT FROM bus.idempotency"))).isEmpty)
            let table = failing.split(separator: " ").last ?? ""
            try await fixture.cluster.sql("DROP TRIGGER fails ON \(table)", database: fixture.database)
            #expect(try await runtime.discard(.device("a"), first) == 0)
        }
    }

    private let heavy = #"{"heavy":true}"#
    private let light = "{}"

    /// Parks a device with the first of these events.
    private func withParked(
        _ events: String...,
        body: @Sendable @escaping (RuntimeFixture, DurableRuntime<Brittle>, Faults, [UUID]) async throws -> Void
    ) async throws {
        let fixture = try await RuntimeFixture()
        let faults = Faults()
        try await fixture.running(Brittle.self, faults) { runtime in
            var pings: [UUID] = []
            for event in events { pings.append(try await fixture.append(ping: event, to: "a")) }
            try await eventuallyTrue { try await runtime.deadLetters().count == events.count }
            try await body(fixture, runtime, faults, pings)
        }
        await fixture.pool.close()
    }

    private func park(_ fixture: RuntimeFixture, _ runtime: DurableRuntime<Brittle>) async throws {
        try await fixture.append(ping: heavy, to: "a")
        try await eventuallyTrue { try await runtime.deadLetters().count == 1 }
    }
}

extension RuntimeFixture {
    /// Moves the events of a device to a day in the past, except those that are in the past already.
    fileprivate func moveToDay(_ daysAgo: Int, device: String) async throws {
        guard daysAgo > 0 else { return }
        try await cluster.sql(
            """
            DO $$ DECLARE day date := current_date - \(daysAgo); BEGIN
                EXECUTE format('CREATE TABLE bus.%I PARTITION OF bus.events FOR VALUES FROM (%L) TO (%L)',
                    'events_' || to_char(day, 'YYYYMMDD'), day, day + 1);
            END $$;
            UPDATE bus.events SET day = current_date - \(daysAgo) WHERE key = 'device:\(device)' AND day = current_date;
            """, database: database)
    }

    /// The pings that were counted.
    fileprivate func causes() async throws -> [UUID] {
        try await log().filter { $0.type == PingCounted.type }.compactMap(\.causation)
    }
}
