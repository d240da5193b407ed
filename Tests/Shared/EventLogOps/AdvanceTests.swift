import Contracts
import Machines
import Postgres
import Records
import Runtime
import TestSupport
import Testing
import Timeline

@testable import EventLog

@Suite("Advancing the clock", .tags(.database), .timeLimit(.minutes(5))) struct AdvanceTests {
    @Test func `an advance fires every deadline at its due time and settles`() async throws {
        let fixture = try await OpsFixture(virtual: true)
        let start = try await fixture.control.set(frozen: true).now
        try await fixture.running { runtime in
            for (device, seconds) in [("a", 100), ("b", 250), ("c", 599), ("late", 601)] {
                _ = try await runtime.submit(Submission(.ring(after: .seconds(Int64(seconds))), to: device))
            }
            let end = try await fixture.control.advance(by: .seconds(600))
            #expect(end.now == start + .seconds(600))
            #expect(end.isFrozen)
            // After the advance, all effects exist without a wait.
            for (device, seconds) in [("a", 100), ("b", 250), ("c", 599)] {
                let rang = try await fixture.events(of: device).last
                #expect(rang?.type == Rang.type)
                #expect(rang?.time == start + .seconds(Int64(seconds)))
            }
            #expect(try await fixture.events(of: "late").last?.type == RingSet.type)
            for consumer in try await fixture.queries.consumers() {
                #expect(consumer.positions.allSatisfy { $0.lag == 0 })
            }
            _ = try await fixture.control.advance(by: .seconds(1))
            #expect(try await fixture.events(of: "late").last?.time == start + .seconds(601))
        }
    }

    @Test func `an advance stops at each deadline`() async throws {
        let fixture = try await OpsFixture(virtual: true)
        let start = try await fixture.control.set(frozen: true).now
        try await fixture.running { runtime in
            _ = try await runtime.submit(Submission(.ring(after: .seconds(10)), to: "a"))
            // Record each step of the clock.
            _ = try await fixture.sql("CREATE TABLE public.steps (moment bigint)")
            _ = try await fixture.sql(
                """
                CREATE FUNCTION public.note() RETURNS trigger LANGUAGE plpgsql AS $$
                BEGIN INSERT INTO public.steps VALUES (NEW.virtual_epoch); RETURN NULL; END $$
                """)
            _ = try await fixture.sql(
                "CREATE TRIGGER note AFTER UPDATE ON bus.clock FOR EACH ROW EXECUTE FUNCTION public.note()")
            _ = try await fixture.control.advance(by: .seconds(60))
            let steps = try await fixture.sql("SELECT moment FROM steps ORDER BY moment").map {
                try $0.decode(Int.self)
            }
            #expect(steps == [10, 60].map { Int((start + .seconds($0)).milliseconds) })
        }
    }

    @Test func `a stopped consumer is reported and the clock stays at the last step`() async throws {
        let fixture = try await OpsFixture(virtual: true)
        let start = try await fixture.control.set(frozen: true).now
        try await fixture.running { runtime in
            _ = try await runtime.submit(Submission(.ring(after: .seconds(5)), to: "a"))
        }
        // The counter does not run now.
        do {
            _ = try await fixture.control.advance(by: .seconds(60), patience: .milliseconds(200))
            Issue.record("it settled")
        } catch let error as ClockError {
            let laggard = Laggard(consumer: "counter", events: 0, deadline: start + .seconds(5))
            #expect(error == .notSettled(at: start + .seconds(5), laggards: [laggard]))
        }
        try await fixture.append(to: "a")
        do {
            _ = try await fixture.control.advance(by: .seconds(60), patience: .milliseconds(200))
            Issue.record("it settled")
        } catch let error as ClockError {
            #expect(error.description.contains("counter is 1 events behind"))
        }
        // The counter runs again and the next advance succeeds.
        try await fixture.running { _ in
            let end = try await fixture.control.advance(by: .seconds(60))
            #expect(end.now == start + .seconds(65))
        }
    }

    @Test func `an advance does not wait for the deadline of a parked key`() async throws {
        let fixture = try await OpsFixture(virtual: true)
        try await fixture.control.set(frozen: true)
        try await fixture.store("a", offset: 1, state: [])
        _ = try await fixture.sql("UPDATE counter.states SET next_deadline = 1")
        await #expect(throws: ClockError.self) {
            try await fixture.control.advance(by: .seconds(1), patience: .milliseconds(100))
        }
        let partition = AggregateKey.device("a").partition(of: OpsFixture.partitions)
        _ = try await fixture.sql(
            "INSERT INTO bus.dead_letters (partition, consumer, key, log_offset, due) VALUES ($1, 'counter', 'device:a', 0, 1)",
            .int4(Int32(partition)))
        _ = try await fixture.control.advance(by: .seconds(1), patience: .seconds(60))
    }

    @Test func `concurrent advances run one after the other`() async throws {
        let fixture = try await OpsFixture(virtual: true)
        let start = try await fixture.control.set(frozen: true).now
        try await fixture.running { runtime in
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<6 { group.addTask { _ = try await fixture.control.advance(by: .seconds(10)) } }
                try await group.waitForAll()
            }
            #expect(try await fixture.control.read().now == start + .seconds(60))
        }
    }

    @Test func `a cancelled advance releases the lock`() async throws {
        let fixture = try await OpsFixture(virtual: true)
        try await fixture.control.set(frozen: true)
        try await fixture.append(to: "a")
        await #expect(throws: TimedOut.self) {
            // No consumer reads, so the advance waits until the timeout cancels it.
            try await withTimeout(seconds: 0.2) { _ = try await fixture.control.advance(by: .seconds(1)) }
        }
        try await fixture.readAll()
        _ = try await fixture.control.advance(by: .seconds(1), patience: .seconds(60))
    }

    @Test func `a repeated advance continues to the same target after its process died`() async throws {
        let fixture = try await OpsFixture(virtual: true)
        let start = try await fixture.control.set(frozen: true).now
        let request = Idempotency(key: "k", fingerprint: [1])
        try await fixture.running { runtime in
            _ = try await runtime.submit(Submission(.ring(after: .seconds(10)), to: "a"))
        }
        // Cancel the advance at the first deadline, which no consumer fires.
        await #expect(throws: (any Error).self) {
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { _ = try await fixture.control.advance(by: .seconds(60), request: request) }
                try await eventually(describe: "the first step") {
                    try await fixture.control.read().now == start + .seconds(10)
                }
                group.cancelAll()
                try await group.waitForAll()
            }
        }
        try await fixture.running { _ in
            for _ in 1...2 {
                let end = try await fixture.control.advance(by: .seconds(60), request: request)
                #expect(end.now == start + .seconds(60))
            }
            #expect(try await fixture.control.read().now == start + .seconds(60))
            let other = Idempotency(key: "k", fingerprint: [2])
            await #expect(throws: IdempotencyConflict()) {
                try await fixture.control.advance(by: .seconds(60), request: other)
            }
        }
    }

    @Test func `requests to advance are deleted after a day`() async throws {
        let fixture = try await OpsFixture(virtual: true)
        try await fixture.control.set(frozen: true)
        for key in ["old", "young"] {
            _ = try await fixture.control.advance(by: .zero, request: Idempotency(key: key, fingerprint: []))
        }
        _ = try await fixture.sql(
            "UPDATE bus.idempotency SET created_at = created_at - interval '25 hours' WHERE key = 'old'")
        _ = try await fixture.control.advance(by: .zero, request: Idempotency(key: "new", fingerprint: []))
        let keys = try await fixture.sql("SELECT key FROM bus.idempotency ORDER BY key").map {
            try $0.decode(String.self)
        }
        #expect(keys == ["new", "young"])
    }

    @Test func `an advance waits until consumers have read all events`() async throws {
        let fixture = try await OpsFixture(virtual: true)
        try await fixture.control.set(frozen: true)
        try await fixture.running { runtime in
            for number in 0..<50 { try await fixture.append(to: "d\(number)") }
            _ = try await fixture.control.advance(by: .seconds(1))
            for number in 0..<50 {
                #expect(try await runtime.state(.device("d\(number)"))?.aggregate.state.pings == 1)
            }
        }
    }
}

extension OpsFixture {
    func events(of device: String) async throws -> [Event] {
        var filter = EventFilter()
        filter.key = .device(device)
        return try await queries.page(filter, .oldest, limit: 1000).events
    }
}
