import Contracts
import EventLog
import Foundation
import Postgres
import TestSupport
import Testing

@testable import Runtime

/// Failures of the database that do not show their cause.
@Suite(.timeLimit(.minutes(2))) struct FailingTests {
    @Test func `an input that fails alone is set aside if one behind it succeeds`() async throws {
        try await withRefusal(of: "%a") { bench, runtime in
            try await bench.append(to: "a")
            try await eventuallyTrue {
                if case .failing(let reason) = await runtime.partitionStates[home(bench)] {
                    reason.contains("event:1") && reason.contains("XX001")
                } else {
                    false
                }
            }
            // Nothing proves that the database is not at fault.
            #expect(try await bench.letters() == 0)
            #expect(runtime.stuckPartitions.map(\.partition) == [home(bench)])
            #expect(runtime.partitionsStuck(for: .seconds(60)).isEmpty)
            try await bench.counted([try await bench.append(to: neighbour(bench))])
            let letters = try await runtime.deadLetters()
            #expect(letters.map(\.key) == [.device("a")])
            #expect(letters.first?.reason?.contains("XX001") == true)
            #expect(runtime.stuckPartitions.isEmpty)
        }
    }

    @Test func `an input that fails alone is set aside if commands succeed`() async throws {
        try await withRefusal(of: "%a") { bench, runtime in
            try await bench.append(to: "a")
            try await eventuallyTrue { !runtime.stuckPartitions.isEmpty }
            let other = neighbour(bench)
            try await withTimeout(seconds: 60, "the input to be set aside") {
                while try await bench.letters() == 0 { _ = try await runtime.submit(.add(1, to: other)) }
            }
            #expect(try await runtime.deadLetters().map(\.offset) == [1])
        }
    }

    @Test func `no input is set aside while the database refuses all of them`() async throws {
        try await withRefusal(of: "%") { bench, runtime in
            var pings: [UUID] = []
            for device in ["a", neighbour(bench), "a"] { pings.append(try await bench.append(to: device)) }
            try await eventuallyTrue { runtime.stuckPartitions.map(\.partition) == [home(bench)] }
            await #expect(throws: RuntimeError.databaseUnavailable) { try await runtime.submit(.add(1, to: "a")) }
            // The worker tried both ways: the input alone, and set aside together with those behind it.
            try await bench.eventuallyCount("SELECT last_value FROM public.refusals", isAtLeast: 20)
            #expect(try await bench.letters() == 0)
            try await bench.cluster.sql("DROP TRIGGER refuse ON counter.states", database: bench.database)
            try await bench.counted(pings)
            #expect(try await bench.letters() == 0)
            try await eventuallyTrue { runtime.stuckPartitions.isEmpty }
            #expect(await runtime.partitionStates[home(bench)] == .following)
        }
    }

    @Test func `a command that fails alone does not fail other commands`() async throws {
        try await withRefusal(of: "%bad") { bench, runtime in
            let bad = try #require((0..<100).map { "\($0)bad" }.first { partition(of: $0, bench) == home(bench) })
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
            #expect(try await bench.log().count == 59)
        }
    }

    @Test func `an event that is already a dead letter and comes again stays one`() async throws {
        let bench = try await RuntimeBench()
        try await bench.append(to: "a")
        try await bench.cluster.sql(
            """
            INSERT INTO bus.dead_letters (partition, consumer, key, log_offset, reason)
            VALUES (\(home(bench)), 'counter', 'device:a', 1, 'test');
            UPDATE bus.cursors SET parked = 1 WHERE partition = \(home(bench));
            """, database: bench.database)
        try await bench.running { runtime in
            let next = try await bench.append(to: neighbour(bench))
            try await bench.counted([next])
            #expect(try await runtime.deadLetters().map(\.offset) == [1])
        }
        await bench.pool.close()
    }

    private func partition(of device: String, _ bench: RuntimeBench) -> Int {
        AggregateKey.device(device).partition(of: bench.partitions)
    }

    private func home(_ bench: RuntimeBench) -> Int { partition(of: "a", bench) }

    private func neighbour(_ bench: RuntimeBench) -> String {
        (0..<100).map { "n\($0)" }.first { partition(of: $0, bench) == home(bench) } ?? "a"
    }

    /// Runs a counter while the database refuses states with certain keys, as with a damaged index.
    private func withRefusal(
        of pattern: String,
        _ body: @Sendable @escaping (RuntimeBench, DurableRuntime<Counter>) async throws -> Void
    ) async throws {
        let bench = try await RuntimeBench()
        try await bench.cluster.sql(
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
            """, database: bench.database)
        try await bench.running { try await body(bench, $0) }
        await bench.pool.close()
    }
}

extension RuntimeBench {
    /// Waits until a query returns at least a number.
    fileprivate func eventuallyCount(_ query: String, isAtLeast count: Int) async throws {
        try await eventuallyTrue { try await pool.run(Call(Statement(query)))[0].int(0) >= count }
    }
}
