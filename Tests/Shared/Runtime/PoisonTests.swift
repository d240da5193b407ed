import Contracts
import EventLog
import Foundation
import Machines
import Postgres
import TestSupport
import Testing
import Timeline

@testable import Runtime

/// Poison inputs: only the input at fault fails or waits.
@Suite(.tags(.database)) struct PoisonTests {
    @Test func `a command that the database refuses fails alone`() async throws {
        try await withBrittle { fixture, runtime, _ in
            let failures = try await withThrowingTaskGroup(of: RuntimeError?.self) { group in
                for number in 0..<200 {
                    var command = Submission<Brittle>.add(1, to: "d\(number % 10)")
                    // PostgreSQL text can't have a zero byte.
                    if number == 57 { command.origin.traceparent = "a\u{0}b" }
                    let sent = command
                    group.addTask {
                        do {
                            _ = try await runtime.submit(sent)
                            return nil
                        } catch let error as RuntimeError { return error }
                    }
                }
                var failures: [RuntimeError] = []
                for try await failure in group { if let failure { failures.append(failure) } }
                return failures
            }
            #expect(failures == [.failed])
            #expect(try await fixture.log().count == 199)
        }
    }

    @Test func `an event at fault parks its device, and the others continue`() async throws {
        try await withBrittle { fixture, runtime, faults in
            let (sick, well) = twoOfOnePartition(fixture)
            let pings = [
                try await fixture.append(ping: #"{"heavy":true}"#, to: sick), try await fixture.append(to: sick),
                try await fixture.append(to: sick),
            ]
            try await fixture.counted([try await fixture.append(to: well)])
            let letters = try await runtime.deadLetters()
            #expect(letters.map(\.offset) == [1, 2, 3])
            #expect(letters.map { $0.reason == nil } == [false, true, true])
            #expect(try await runtime.parkedDevices() == 1)
            await #expect(throws: RuntimeError.parked(key: .device(sick))) {
                try await runtime.submit(.add(1, to: sick))
            }
            _ = try await runtime.submit(.add(1, to: well))

            await #expect(throws: DeadLetterError.self) { try await runtime.replay(.device(sick)) }
            #expect(try await runtime.deadLetters() == letters)
            faults.mend()
            #expect(try await runtime.replay(.device(sick)) == 3)
            let counted = try await fixture.log().filter { $0.type == PingCounted.type && $0.key == .device(sick) }
            #expect(counted.compactMap(\.causation) == pings)
            #expect(try await runtime.parkedDevices() == 0)
            _ = try await runtime.submit(.add(1, to: sick))
            #expect(try await runtime.foldCheck(.device(sick)))
            await #expect(throws: DeadLetterError.notParked(.device(sick))) {
                try await runtime.replay(.device(sick))
            }
        }
    }

    @Test func `an event that can't be read parks its device, and one that is refused does not`() async throws {
        try await withBrittle { fixture, runtime, faults in
            let (sick, well) = twoOfOnePartition(fixture)
            let unread = try await fixture.append(ping: #"{"malformed":true}"#, to: sick)
            try await fixture.append(ping: #"{"unwelcome":true}"#, to: well)
            try await fixture.counted([try await fixture.append(to: well)])
            let letters = try await runtime.deadLetters()
            #expect(letters.map(\.offset) == [1])
            #expect(letters.first?.reason?.contains("can't be read") == true)
            #expect(try await runtime.parkedDevices() == 1)
            await #expect(throws: RuntimeError.parked(key: .device(sick))) {
                try await runtime.submit(.add(1, to: sick))
            }
            faults.mend()
            #expect(try await runtime.replay(.device(sick)) == 1)
            try await fixture.counted([unread])
        }
    }

    @Test func `an event that only a newer program can read halts its partition and is no dead letter`() async throws {
        try await withBrittle { fixture, runtime, faults in
            let devices = fixture.oneDeviceInEach
            let first = try await fixture.append(to: devices[0])
            let newer = try await fixture.append(ping: #"{"newer":true}"#, to: devices[0])
            try await eventuallyTrue {
                if case .halted = await runtime.partitionStates[0] { true } else { false }
            }
            try await fixture.counted([first, try await fixture.append(to: devices[1])])
            #expect(try await runtime.deadLetters().isEmpty)
            #expect(try await fixture.log().allSatisfy { $0.causation != newer })
            // The cursor waits before the event for a program that can read it.
            let position = Statement("SELECT log_offset FROM bus.cursors WHERE partition = 0")
            #expect(try await fixture.pool.execute(Query(position))[0].decode(Int.self, at: 0) == 1)
            faults.mend()
        }
    }

    @Test func `discarding the event at fault processes the events behind it`() async throws {
        try await withBrittle { fixture, runtime, _ in
            try await fixture.append(ping: #"{"heavy":true}"#, to: "a")
            let behind = [try await fixture.append(to: "a"), try await fixture.append(to: "a")]
            try await eventuallyTrue { try await runtime.deadLetters().count == 3 }
            #expect(try await runtime.discard(.device("a")) == 2)
            let counted = try await fixture.log().filter { $0.type == PingCounted.type }
            #expect(counted.compactMap(\.causation) == behind)
            let next = try await fixture.append(to: "a")
            try await fixture.counted([next])
        }
    }

    @Test func `a deadline at fault parks its device until an operator replays it`() async throws {
        try await withBrittle { fixture, runtime, faults in
            let (sick, well) = twoOfOnePartition(fixture)
            _ = try await runtime.submit(Submission(.ring(after: .milliseconds(20)), to: sick))
            try await eventuallyTrue { try await runtime.deadLetters().count == 1 }
            let joined = try await fixture.append(to: sick)
            try await fixture.counted([try await fixture.append(to: well)])
            let letters = try await runtime.deadLetters()
            #expect(letters.map(\.offset) == [nil, 2])
            #expect(letters.first?.due != nil)
            await #expect(throws: DeadLetterError.deadlineStays) { try await runtime.discard(.device(sick)) }
            faults.mend()
            #expect(try await runtime.replay(.device(sick)) == 2)
            let own = try await fixture.log().filter { $0.key == .device(sick) && $0.source == Counter.name }
            #expect(own.map(\.type) == [RingSet.type, Rang.type, PingCounted.type])
            #expect(own.last?.causation == joined)
        }
    }

    @Test func `an operator's order does not wait for a blocked partition`() async throws {
        try await withBrittle { fixture, runtime, _ in
            try await fixture.append(ping: #"{"heavy":true}"#, to: "a")
            try await eventuallyTrue { try await runtime.deadLetters().count == 1 }
            try await fixture.pool.withConnection { holder in
                _ = try await holder.execute([
                    Query(Statement("BEGIN")), Query(Statement("SET LOCAL idle_in_transaction_session_timeout = 0")),
                    Query(Statement("SELECT FROM bus.cursors FOR UPDATE")),
                ])
                try await withTimeout(seconds: 60) {
                    await #expect(throws: DeadLetterError.heldUp) { try await runtime.replay(.device("a")) }
                    await #expect(throws: DeadLetterError.heldUp) { try await runtime.discard(.device("a")) }
                }
                _ = try await holder.execute(Query(Statement("ROLLBACK")))
            }
            #expect(try await runtime.discard(.device("a")) == 0)
        }
    }

    @Test func `repeated database failures during a trial condemn no input`() async throws {
        let fixture = try await RuntimeFixture()
        let device = try #require(fixture.oneDeviceInEach.first)
        let ping = try await fixture.append(to: device)
        try await fixture.cluster.sql(
            """
            CREATE SEQUENCE public.failures;
            CREATE FUNCTION public.fail() RETURNS trigger LANGUAGE plpgsql AS $$
            BEGIN
                PERFORM nextval('public.failures');
                RAISE EXCEPTION 'not now' USING ERRCODE = '40001';
            END $$;
            CREATE TRIGGER fails BEFORE INSERT ON counter.states EXECUTE FUNCTION public.fail();
            UPDATE bus.cursors SET owner = gen_random_uuid(), attempts = 1;
            """, database: fixture.database)
        try await fixture.running { _ in
            let failures = Statement("SELECT last_value FROM public.failures")
            try await eventuallyTrue { try await fixture.pool.execute(Query(failures))[0].decode(Int.self, at: 0) > 6 }
            let tries = try await fixture.pool.execute(
                Query(Statement("SELECT attempts::int8 FROM bus.input_attempts")))
            #expect(try tries.map { try $0.decode(Int.self, at: 0) } == [1])
            try await fixture.cluster.sql("DROP TRIGGER fails ON counter.states", database: fixture.database)
            try await fixture.counted([ping])
            #expect(try await fixture.letters() == 0)
            // At the head of the log, quarantine is over.
            let attempts = Statement("SELECT attempts::int8 FROM bus.cursors WHERE partition = 0")
            try await eventuallyTrue { try await fixture.pool.execute(Query(attempts))[0].decode(Int.self, at: 0) == 0 }
        }
        await fixture.pool.close()
    }

    @Test func `a released lease does not reset the count of dead owners`() async throws {
        let fixture = try await RuntimeFixture()
        let (dead, first, second) = (UUID(), UUID(), UUID())
        func acquire(_ member: UUID) -> Query {
            Query(Statements.acquire, [.int4(0), .text(Counter.name), .uuid(member), .double(-1), .bool(false)])
        }
        func attempts(_ rows: Rows) throws -> Int { try rows[0].decode(Int.self, at: 1) }
        let rows = try await fixture.pool.execute([
            acquire(dead), acquire(first), acquire(first),
            Query(Statements.release, [.int4(0), .text(Counter.name), .uuid(first), .bool(false)]), acquire(second),
            acquire(first),
        ])
        #expect(try [0, 1, 2, 4, 5].map { try attempts(rows[$0]) } == [0, 1, 1, 1, 2])
        await fixture.pool.close()
    }

    @Test func `idempotency answers are deleted after a day`() async throws {
        let fixture = try await RuntimeFixture()
        let insert = Statement(
            """
            INSERT INTO bus.idempotency (partition, service, key, fingerprint, answer, created_at)
            SELECT p, 'counter', h::text, '', '', clock_timestamp() - make_interval(hours => h)
            FROM generate_series(0, 3) AS p, unnest(ARRAY[23, 25]) AS h
            """)
        _ = try await fixture.pool.execute(Query(insert))
        try await fixture.running { _ in
            try await eventuallyTrue {
                let rows = try await fixture.pool.execute(Query(Statement("SELECT DISTINCT key FROM bus.idempotency")))
                return try rows.map { try $0.decode(String.self, at: 0) } == ["23"]
            }
        }
        await fixture.pool.close()
    }

    private func twoOfOnePartition(_ fixture: RuntimeFixture) -> (String, String) {
        let home = AggregateKey.device("a").partition(of: fixture.partitions)
        let other = (0..<100).map { "n\($0)" }.first {
            AggregateKey.device($0).partition(of: fixture.partitions) == home
        }
        return ("a", other ?? "a")
    }

    func withBrittle(
        _ body: @Sendable @escaping (RuntimeFixture, DurableRuntime<Brittle>, Faults) async throws -> Void
    ) async throws {
        let fixture = try await RuntimeFixture()
        let faults = Faults()
        try await fixture.running(Brittle.self, faults) { try await body(fixture, $0, faults) }
        await fixture.pool.close()
    }
}

extension Submission<Brittle> {
    init(_ command: Counter.Command, to device: String) {
        self.init(key: .device(device), command: command, origin: .named()) { aggregate, _ in
            Array(String(aggregate.state.counter.total).utf8)
        }
    }

    static func add(_ amount: Int, to device: String) -> Submission { Submission(.add(amount), to: device) }
}
