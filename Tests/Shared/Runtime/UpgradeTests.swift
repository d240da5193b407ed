import Contracts
import EventLog
import Foundation
import Machines
import Postgres
import Records
import Runtime
import TestSupport
import Testing
import Timeline

/// Upgrades of older states, in the background or for an input. No upgrade reads the log under the cursor's lock.
@Suite(.tags(.database), .timeLimit(.minutes(2))) struct UpgradeTests {
    @Test func `idle states are upgraded in the background with their deadlines`() async throws {
        let fixture = try await RuntimeFixture()
        let devices = (0..<120).map { "d\($0)" }
        try await fixture.storeOldStates(of: devices)
        let rings = Statement("SELECT count(*) FROM counter.states WHERE next_deadline = $1")
        let versions = Statement("SELECT min(machine_version)::int8 FROM counter.states")
        try await fixture.running(LaterCounter.self, (), limits: StallLimits(update: .zero)) { later in
            try await eventuallyTrue { try await fixture.pool.execute(Query(versions))[0].decode(Int.self, at: 0) == 2 }
            #expect(
                try await fixture.pool.execute(Query(rings, [.int(RuntimeFixture.ringing)]))[0].decode(Int.self, at: 0)
                    == devices.count)
            try await eventuallyTrue { later.upgradedStates == devices.count && later.outdatedStates == 0 }
            for device in devices.prefix(3) {
                #expect(try await later.state(.device(device))?.aggregate.state.counter.total == 3)
                #expect(try await later.foldCheck(.device(device)))
            }
            try await eventuallyTrue { try await fixture.versionsReached() == [2, 2, 2, 2] }
        }
        await fixture.pool.close()
    }

    @Test func `commands that meet the sweeper lose nothing`() async throws {
        let fixture = try await RuntimeFixture()
        let devices = (0..<200).map { "d\($0)" }
        try await fixture.storeOldStates(of: devices)
        try await fixture.running(ForgetfulCounter.self, (), limits: StallLimits(update: .zero)) { later in
            try await withThrowingTaskGroup(of: Void.self) { group in
                for device in devices {
                    group.addTask {
                        for _ in 0..<3 {
                            let submission = Submission(adding: 1, to: device)
                            // As a client repeats a command that was refused: 200 come at once.
                            while true {
                                do {
                                    _ = try await later.submit(submission)
                                    break
                                } catch RuntimeError.overloaded { try await Task.sleep(for: .milliseconds(100)) }
                            }
                        }
                    }
                }
                try await group.waitForAll()
            }
            try await eventuallyTrue { later.outdatedStates == 0 }
            for device in devices {
                let state = try await later.state(.device(device))?.aggregate.state.counter
                #expect(state?.total == 6 && state?.pings == 1, "the log has the ping")
                #expect(try await later.foldCheck(.device(device)))
            }
        }
        await fixture.pool.close()
    }

    @Test func `a history is read outside of the cursor's lock`() async throws {
        let fixture = try await RuntimeFixture()
        try await fixture.storeOldStates(of: ["a"], events: 1200)
        let partition = AggregateKey.device("a").partition(of: fixture.partitions)
        // Another session has the lease, so this runtime has only commands, and no sweeper.
        try await fixture.cluster.sql(
            """
            UPDATE bus.cursors SET owner = gen_random_uuid(), epoch = 1, lease_expires = now() + interval '1 hour';
            CREATE TABLE bus.former PARTITION OF bus.events FOR VALUES FROM ('2001-01-01') TO ('2001-01-02');
            """, database: fixture.database)
        let other = try await Connection.open(try ConnectionOptions(url: fixture.url), logger: fixture.logger)
        _ = try await other.execute([
            Query(Statement("BEGIN")), Query(Statement("LOCK TABLE bus.former IN ACCESS EXCLUSIVE MODE")),
        ])
        try await fixture.running(ForgetfulCounter.self, (), limits: StallLimits(update: .zero)) { later in
            async let answer = later.submit(Submission(adding: 1, to: "a"))
            let waiting = Statement(
                "SELECT count(*) FROM pg_locks WHERE NOT granted AND relation = 'bus.former'::regclass")
            try await eventuallyTrue { try await fixture.pool.execute(Query(waiting))[0].decode(Int.self, at: 0) > 0 }
            // The history can't be read, and no session holds the cursor's row for longer than a statement.
            let free = Statement(
                "SELECT FROM bus.cursors WHERE partition = $1 AND consumer = 'counter' FOR UPDATE NOWAIT")
            try await eventuallyTrue {
                (try? await fixture.pool.execute(Query(free, [.int4(Int32(partition))])).count) == 1
            }
            _ = try await other.execute(Query(Statement("COMMIT")))
            #expect(String(decoding: try await answer.body, as: UTF8.self) == "1201")
        }
        await other.close()
        await fixture.pool.close()
    }

    @Test func `a state without a complete log keeps the values of its former version`() async throws {
        let fixture = try await RuntimeFixture()
        try await fixture.storeOldStates(of: ["a"])
        try await fixture.cluster.sql("DELETE FROM bus.events", database: fixture.database)
        try await fixture.running(ForgetfulCounter.self, (), limits: StallLimits(update: .zero)) { later in
            #expect(try await later.state(.device("a"))?.aggregate.state.counter.total == 3)
            let ping = try await fixture.append(to: "a")
            try await fixture.waitForLog { log in log.contains { $0.causation == ping } }
            let answer = try await later.submit(Submission(adding: 1, to: "a"))
            #expect(String(decoding: answer.body, as: UTF8.self) == "4")
            #expect(try await later.state(.device("a"))?.aggregate.state.counter.pings == 1)
        }
        await fixture.pool.close()
    }
}

extension Submission where M == ForgetfulCounter {
    fileprivate init(adding amount: Int, to device: String) {
        self.init(key: .device(device), command: .add(amount), origin: .named()) { aggregate, _ in
            Array(String(aggregate.state.counter.total).utf8)
        }
    }
}

extension RuntimeFixture {
    /// The ring time of the counters of ``storeOldStates(of:events:)``: not soon.
    fileprivate static let ringing = 4_000_000_000_000

    /// Stores states of version 1 with their events in the log. These are a number of events of 1 and a ping, or one
    /// event of 3, and a ring. The stored deadline is missing, as if the older machine had none.
    fileprivate func storeOldStates(of devices: [String], events: Int = 3) async throws {
        for device in devices {
            let key = AggregateKey.device(device)
            var aggregate = Aggregate<Counter>(key: key)
            let added = CounterEvent.added(Added(amount: 1, mark: ""))
            let ring = CounterEvent.set(RingSet(at: Instant(milliseconds: Int64(Self.ringing))))
            let own = Array(repeating: added, count: events) + [ring, .pinged(PingCounted(event: ""))]
            let sealed = own.map { event in
                Event(
                    id: UUID(), source: "counter", type: type(of: event.data).type, version: 1, key: key, app: nil,
                    time: Instant(milliseconds: 1_750_000_000_000), correlation: UUID(), causation: nil,
                    traceparent: nil, data: event.data.jsonBytes)
            }
            try aggregate.fold(sealed)
            let place = Parameter.int4(Int32(key.partition(of: partitions)))
            let append = Statement(
                """
                WITH moved AS (UPDATE bus.partitions SET head = head + $2, day = current_date WHERE partition = $1
                    RETURNING head)
                INSERT INTO bus.events (partition, log_offset, day, id, source, type, version, key, time, correlationid, data)
                SELECT $1, (SELECT head FROM moved) - $2 + e.n, current_date, e.id, 'counter', e.type, 1, $3,
                    1750000000000, e.id, e.data
                FROM unnest($4::uuid[], $5::text[], $6::json[]) WITH ORDINALITY AS e (id, type, data, n)
                """)
            let store = Statement(
                """
                INSERT INTO counter.states (partition, key, state, machine_version, version, event_count, decided_at)
                SELECT $1, $2, $3, 1, head, $4, 1750000000000 FROM bus.partitions WHERE partition = $1
                """)
            _ = try await pool.execute([
                Query(
                    append,
                    [
                        place, .int(sealed.count), .text(key.description), .uuids(sealed.map(\.id)),
                        .texts(sealed.map(\.type)), .jsons(sealed.map(\.data)),
                    ]),
                Query(
                    store, [place, .text(key.description), .bytes(aggregate.state.binary), .int(aggregate.eventCount)]),
            ])
        }
        try await cluster.sql(
            """
            UPDATE bus.cursors AS c SET log_offset = p.head FROM bus.partitions AS p WHERE p.partition = c.partition;
            UPDATE bus.state_versions SET wanted = 2;
            """, database: database)
    }

    fileprivate func versionsReached() async throws -> [Int] {
        try await pool.execute(Query(Statement("SELECT reached::int8 FROM bus.state_versions"))).map {
            try $0.decode(Int.self)
        }
    }
}
