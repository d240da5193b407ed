import Contracts
import EventLog
import Foundation
import Postgres
import TestSupport
import Testing

@testable import Runtime

/// Commands that end each process that runs them.
@Suite(.tags(.database, .processes), .serialized, .timeLimit(.minutes(5))) struct CommandGuardTests {
    @Test func `a command that ends the process is refused after four recorded tries`() async throws {
        let fixture = try await RuntimeFixture()
        var deaths = 0
        while true {
            let replica = try await CounterProcess(fixture, "commands")
            let isOver = try await withThrowingTaskGroup(of: Bool.self) { group in
                group.addTask { try await replica.process.exit(within: 60) == .exited(0) }
                defer { group.cancelAll() }
                return try await group.next() ?? false
            }
            if isOver {
                let outcomes = replica.process.output.lines
                #expect(outcomes.contains("refused guilty: \(RuntimeError.failed)"), "\(outcomes)")
                for number in 0..<10 { #expect(outcomes.contains("ack innocent-\(number)")) }
                break
            }
            deaths += 1
            try #require(deaths < 8)
        }
        // Four recorded tries, and up to two before the death is known.
        #expect((4...6).contains(deaths))
        // The other commands ran once and are not suspects.
        #expect(try await fixture.log().count { $0.type == Added.type } == 10)
        let suspects = try await fixture.pool.execute(
            Query(Statement("SELECT input, attempts::int8 FROM bus.input_attempts")))
        #expect(try suspects.map { try $0.decode(String.self, at: 0) } == ["command:guilty"])
        #expect(try suspects.map { try $0.decode(Int.self, at: 1) } == [5])
        await fixture.pool.close()
    }

    @Test(arguments: [(-60.0, 1, false), (1.6, 1, true), (-60.0, 2, true), (601.0, 2, false)])
    func `a record counts when its batch can no longer be under way`(
        age: Double, attempts: Int, turnsOn: Bool
    ) async throws {
        let fixture = try await RuntimeFixture()
        try await fixture.cluster.sql(
            """
            INSERT INTO bus.input_attempts (partition, consumer, input, attempts, attempted_at)
            VALUES (0, 'counter', 'command:k', \(attempts), clock_timestamp() - \(age) * interval '1 second')
            """, database: fixture.database)
        let isOn = try await fixture.pool.execute(Statements.guardsCommands, .text("counter"), .uuid(UUID()))
        #expect(try isOn[0].decode(Bool.self) == turnsOn)
        await fixture.pool.close()
    }

    @Test func `without a death no command is recorded`() async throws {
        let fixture = try await RuntimeFixture()
        try await fixture.running { runtime in
            try await eventuallyTrue { try await fixture.owners() == [fixture.partitions] }
            try await fixture.cluster.sql(
                """
                CREATE FUNCTION public.fail() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
                    RAISE EXCEPTION 'noted' USING ERRCODE = '22000';
                END $$;
                CREATE TRIGGER fails BEFORE INSERT ON bus.input_attempts FOR EACH ROW EXECUTE FUNCTION public.fail();
                """, database: fixture.database)
            // A young process does not know of earlier deaths yet.
            try await eventuallyTrue {
                var command = Submission<Counter>.add(1, to: "a")
                command.idempotency = Idempotency(key: UUID().uuidString, fingerprint: [])
                do { _ = try await runtime.submit(command) } catch { return false }
                return true
            }
            for number in 0..<20 {
                var command = Submission<Counter>.add(1, to: "a")
                command.idempotency = Idempotency(key: "k\(number)", fingerprint: [])
                _ = try await runtime.submit(command)
            }
            // A death is known within one renewal of the leases.
            try await fixture.cluster.sql(
                """
                INSERT INTO bus.members
                VALUES ('counter', gen_random_uuid(), '-infinity', 0, clock_timestamp() - interval '1 second')
                """, database: fixture.database)
            try await eventuallyTrue {
                var command = Submission<Counter>.add(1, to: "a")
                command.idempotency = Idempotency(key: UUID().uuidString, fingerprint: [])
                do { _ = try await runtime.submit(command) } catch { return true }
                return false
            }
        }
        await fixture.pool.close()
    }
}
