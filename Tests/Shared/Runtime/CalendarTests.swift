import Postgres
import Runtime
import TestSupport
import Testing
import Timeline

/// The last time that documents can contain.
@Suite(.tags(.database), .timeLimit(.minutes(2))) struct CalendarTests {
    @Test func `an event after a state with an impossible time gets the last time of the calendar`() async throws {
        let fixture = try await RuntimeFixture()
        let device = try #require(fixture.oneDeviceInEach.first)
        try await fixture.running { runtime in _ = try await runtime.submit(.add(1, to: device)) }
        let write = Statement("UPDATE counter.states SET decided_at = 9223372036854775807")
        _ = try await fixture.pool.execute(Query(write))
        // A new process has no cached state.
        try await fixture.running { runtime in _ = try await runtime.submit(.add(1, to: device)) }
        let time = try await fixture.pool.execute(Query(Statement("SELECT max(time) FROM bus.events")))[0].decode(
            Int.self)
        #expect(time == Int(Instant.documented.upperBound.milliseconds))
        await fixture.pool.close()
    }
}
