import Contracts
import EventLog
import Machines
import Postgres
import Records
import TestSupport
import Testing

/// The erasure of a history in the log: `bus.erase`.
@Suite("Erasure", .tags(.database), .timeLimit(.minutes(5))) struct ErasureTests {
    private let place = AggregateKey.device("a").partition(of: OpsFixture.partitions)

    @Test func `an erasure waits for consumers, dead letters and readers, then keeps the places of the events`()
        async throws
    {
        let fixture = try await OpsFixture()
        let secret = #"{"alert":"secret"}"#
        let first = try await fixture.append("push.notification.received", source: "push", to: "a", data: secret)
        try await fixture.append("lifecycle.device.deregistered", source: "lifecycle", to: "a")
        let asked = try await fixture.append("lifecycle.device.erased", source: "lifecycle", to: "a")
        try await request(3, fixture)
        let erasure = LogErasure(pool: fixture.pool, logger: fixture.logger)

        try await erasure.round()
        #expect(try await waits(fixture) == "consumer counter")
        try await fixture.readAll()
        _ = try await fixture.sql(
            """
            INSERT INTO bus.dead_letters (partition, consumer, key, log_offset, reason)
            VALUES ($1, 'counter', 'device:a', 1, 'broken')
            """, .int4(Int32(place)))
        try await erasure.round()
        #expect(try await waits(fixture) == "dead letters of counter")
        _ = try await fixture.sql("DELETE FROM bus.dead_letters")

        // A reaction to an erased event comes after the request, and so does a new registration.
        let reaction = try await fixture.append(
            "push.token.unregistered", source: "push", to: "a", causation: first, app: "news", data: secret)
        try await fixture.append(
            "fetch.app.updated", source: "fetch", to: "a", causation: reaction, app: "news", data: secret)
        try await fixture.append("push.device.erased", source: "push", to: "a", causation: asked)
        try await fixture.append(
            "lifecycle.device.registered", source: "lifecycle", to: "a", data: #"{"registration":{}}"#)
        try await fixture.append("other.thing.pinged", to: "a", app: "news", data: secret)
        _ = try await fixture.sql(
            "INSERT INTO bus.readers (partition, reader, log_offset) VALUES ($1, 'ops', 3)", .int4(Int32(place)))
        try await erasure.round()
        #expect(try await waits(fixture) == "reader ops")
        #expect(try await fixture.events(of: "a").map(\.type).contains(Event.erasedType) == false)
        _ = try await fixture.sql("UPDATE bus.readers SET log_offset = 8")
        try await erasure.round()
        #expect(try await waits(fixture) == nil)

        let events = try await fixture.events(of: "a")
        #expect(events.map(\.offset) == Array(1...8))
        #expect(
            events.map(\.type) == [
                Event.erasedType, "lifecycle.device.deregistered", "lifecycle.device.erased", Event.erasedType,
                Event.erasedType, "push.device.erased", "lifecycle.device.registered", "other.thing.pinged",
            ])
        for event in events where event.type == Event.erasedType {
            #expect(String(decoding: event.data, as: UTF8.self) == "{}" && event.app == nil && event.actor == nil)
        }
        #expect(events.last?.app == "news" && String(decoding: events.last?.data ?? [], as: UTF8.self) == secret)
        let counted = try await fixture.sql("SELECT events, erased_at IS NOT NULL FROM bus.erasures")
        #expect(try counted[0].decode((Int, Bool).self) == (3, true))
        #expect(try await fixture.queries.checkDensity(of: place).faults.isEmpty)
    }

    @Test func `data of services are erased first, in a transaction of their own`() async throws {
        let fixture = try await OpsFixture()
        _ = try await fixture.sql("CREATE TABLE counter.calls (up_to bigint)")
        _ = try await fixture.sql(
            """
            CREATE FUNCTION counter.erase_device(integer, text, up_to bigint, timestamptz) RETURNS void LANGUAGE sql
            AS 'INSERT INTO counter.calls VALUES ($3)'
            """)
        func calls() async throws -> [Int] {
            try await fixture.sql("SELECT up_to FROM counter.calls").decode(Int.self)
        }
        try await fixture.append("push.notification.received", source: "push", to: "a")
        try await fixture.append("lifecycle.device.erased", source: "lifecycle", to: "a")
        try await request(2, fixture)
        try await fixture.readAll()
        func erase(upTo offset: Int, ofServices: Bool) async throws -> String? {
            try await fixture.sql(
                "SELECT bus.erase($1, 'device:a', $2, $3)", .int4(Int32(place)), .int(offset), .bool(ofServices)
            )[0].decode(String?.self)
        }
        #expect(try await erase(upTo: 2, ofServices: true) == nil)
        #expect(try await calls() == [2])
        // A later request came after the first step, which has not erased its data.
        #expect(try await erase(upTo: 1, ofServices: false) == "another request")
        #expect(try await !fixture.events(of: "a").contains { $0.type == Event.erasedType })
        let erased = "SELECT erased_at IS NOT NULL FROM bus.erasures"
        #expect(try await fixture.sql(erased)[0].decode(Bool.self) == false)

        // It may be repeated: the process may end between the two.
        try await LogErasure(pool: fixture.pool, logger: fixture.logger).round()
        #expect(try await calls() == [2, 2])
        #expect(try await fixture.events(of: "a").contains { $0.type == Event.erasedType })
        #expect(try await fixture.sql(erased)[0].decode(Bool.self))
    }

    @Test func `a history without its oldest events gets a base without the erased time`() async throws {
        let fixture = try await OpsFixture()
        for (days, state) in [(33, 1), (32, 2)] {
            try await fixture.makeDay(daysAgo: days)
            try await fixture.append(source: "counter", to: "a", daysAgo: days)
            try await fixture.store("a", offset: state, state: [UInt8(state)])
            try await fixture.readAll()
            _ = try await fixture.maintenance(100).round()
        }
        try await fixture.bridge(daysAgo: 2)
        try await fixture.append("lifecycle.device.erased", source: "lifecycle", to: "a")
        try await fixture.append(source: "counter", to: "a")
        try await fixture.store("a", offset: 4, state: [9])
        try await fixture.readAll()
        #expect(try await fixture.maintenance(30).round()?.dropped.count == 2)
        try await request(3, fixture)
        try await LogErasure(pool: fixture.pool, logger: fixture.logger).round()
        #expect(try await waits(fixture) == nil)
        let snapshots = try await fixture.sql("SELECT log_offset, state, is_base FROM bus.snapshots")
        #expect(snapshots.count == 1)
        let (offset, state, isBase) = try snapshots[0].decode((Int, [UInt8], Bool).self)
        #expect(offset == 4 && state == [9] && isBase)
    }

    /// Requests the erasure of device `a`, as `ops` does.
    private func request(_ offset: Int, _ fixture: OpsFixture) async throws {
        _ = try await fixture.sql(
            """
            INSERT INTO bus.erasures (partition, key, log_offset, requested_at)
            VALUES ($1, 'device:a', $2, clock_timestamp())
            """, .int4(Int32(place)), .int(offset))
    }

    private func waits(_ fixture: OpsFixture) async throws -> String? {
        try await fixture.sql("SELECT waits_for FROM bus.erasures")[0].decode(String?.self)
    }
}
