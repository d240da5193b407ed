import Contracts
import EventLog
import Foundation
import Postgres
import TestSupport
import Testing

@testable import Runtime

/// Failures of the database that do not show their cause.
@Suite(.tags(.database), .timeLimit(.minutes(2))) struct FailingTests {
    @Test func `an input that fails alone becomes a dead letter if one behind it succeeds`() async throws {
        try await withRefusal(of: "%a") { fixture, runtime in
            try await fixture.append(to: "a")
            try await eventuallyTrue {
                if case .failing(let reason) = await runtime.partitionStates[home(fixture)] {
                    reason.contains("event:1") && reason.contains("XX001")
                } else {
                    false
                }
            }
            // Nothing proves that the database is not at fault.
            #expect(try await fixture.letters() == 0)
            #expect(runtime.stuckPartitions.map(\.partition) == [home(fixture)])
            #expect(runtime.partitionsStuck(for: .seconds(60)).isEmpty)
            try await fixture.counted([try await fixture.append(to: neighbour(fixture))])
            let letters = try await runtime.deadLetters()
            #expect(letters.map(\.key) == [.device("a")])
            #expect(letters.first?.reason?.contains("XX001") == true)
            #expect(runtime.stuckPartitions.isEmpty)
        }
    }

    @Test func `an input that fails alone becomes a dead letter if commands succeed`() async throws {
        try await withRefusal(of: "%a") { fixture, runtime in
            try await fixture.append(to: "a")
            try await eventuallyTrue { !runtime.stuckPartitions.isEmpty }
            let other = neighbour(fixture)
            try await withTimeout(seconds: 60, "the input to become a dead letter") {
                while try await fixture.letters() == 0 { _ = try await runtime.submit(.add(1, to: other)) }
            }
            #expect(try await runtime.deadLetters().map(\.offset) == [1])
        }
    }

    @Test func `no input becomes a dead letter while the database refuses all of them`() async throws {
        try await withRefusal(of: "%") { fixture, runtime in
            var pings: [UUID] = []
            for device in ["a", neighbour(fixture), "a"] { pings.append(try await fixture.append(to: device)) }
            try await eventuallyTrue { runtime.stuckPartitions.map(\.partition) == [home(fixture)] }
            await #expect(throws: RuntimeError.databaseUnavailable) { try await runtime.submit(.add(1, to: "a")) }
            // The partition tried both ways: the input alone, and as a dead letter together with those behind it.
            try await fixture.eventuallyCount("SELECT last_value FROM public.refusals", isAtLeast: 20)
            #expect(try await fixture.letters() == 0)
            try await fixture.cluster.sql("DROP TRIGGER refuse ON counter.states", database: fixture.database)
            try await fixture.counted(pings)
            #expect(try await fixture.letters() == 0)
            try await eventuallyTrue { runtime.stuckPartitions.isEmpty }
            #expect(await runtime.partitionStates[home(fixture)] == .following)
        }
    }

    @Test func `a command that fails alone does not fail other commands`() async throws {
        try await withRefusal(of: "%bad") { fixture, runtime in
            let bad = try #require((0..<100).map { "\($0)bad" }.first { partition(of: $0, fixture) == home(fixture) })
            let failures = try await withThrowingTaskGroup(of: String?.self) { group in
                for number in 0..<60 {
                    let device = number == 20 ? bad : "a"
                    group.addTask {
                        do {
                            _ = try await runtime.submit(.add(1, to: device))
                            return nil
                        } catch is RuntimeError { return device }
                    }
                }
                var failures: [String] = []
                for try await failure in group { if let failure { failures.append(failure) } }
                return failures
            }
            #expect(failures == [bad])
            #expect(try await fixture.log().count == 59)
        }
    }

    @Test func `an event that is already a dead letter and comes again stays one`() async throws {
        let fixture = try await RuntimeFixture()
        try await fixture.append(to: "a")
        try await fixture.cluster.sql(
            """
            INSERT INTO bus.dead_letters (partition, consumer, key, log_offset, reason)
            VALUES (\(home(fixture)), 'counter', 'device:a', 1, 'test');
            UPDATE bus.cursors SET parked = 1 WHERE partition = \(home(fixture));
            """, database: fixture.database)
        try await fixture.running { runtime in
            let next = try await fixture.append(to: neighbour(fixture))
            try await fixture.counted([next])
            #expect(try await runtime.deadLetters().map(\.offset) == [1])
        }
        await fixture.pool.close()
    }

    private func partition(of device: String, _ fixture: RuntimeFixture) -> Int {
        AggregateKey.device(device).partition(of: fixture.partitions)
    }

    private func home(_ fixture: RuntimeFixture) -> Int { partition(of: "a", fixture) }

    private func neighbour(_ fixture: RuntimeFixture) -> String {
        (0..<100).map { "n\($0)" }.first { partition(of: $0, fixture) == home(fixture) } ?? "a"
    }

    /// Runs a counter while the database refuses states with certain keys, as with a damaged index.
    private func withRefusal(
        of pattern: String,
        _ body: @Sendable @escaping (RuntimeFixture, DurableRuntime<Counter>) async throws -> Void
    ) async throws {
        let fixture = try await RuntimeFixture()
        try await fixture.cluster.sql(
            """
            CREATE SEQUENCE public.refusals;
            CREATE FUNCTION public.refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
                IF NEW.key LIKE '\(pattern)' THEN
                    PERFORM nextval('public.refusals');
                    RAISE EXCEPTION 'damaged' USING ERRCODE = 'XX001';
                END IF;
                RETURN NEW;
            END $$;
            CREATE TRIGGER refuse BEFORE INSERT ON counter.states FOR EACH ROW EXECUTE FUNCTION public.refuse();
            """, database: fixture.database)
        try await fixture.running { try await body(fixture, $0) }
        await fixture.pool.close()
    }
}

extension RuntimeFixture {
    /// Waits until a query returns at least a number.
    fileprivate func eventuallyCount(_ query: String, isAtLeast count: Int) async throws {
        try await eventuallyTrue { try await pool.execute(Query(Statement(query)))[0].decode(Int.self, at: 0) >= count }
    }
}
