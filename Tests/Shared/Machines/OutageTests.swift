import Contracts
import Machines
import Records
import MachineTesting
import Testing
import Timeline

/// Outages of a machine in memory.
@Suite struct OutageTests {
    private let key = AggregateKey.device("a")
    private let start = Instant(milliseconds: 1_000_000)

    private func at(_ seconds: Int64) -> Instant { start + .seconds(seconds) }

    @Test func `an outage extends a limit by its length`() throws {
        var runtime = InMemoryRuntime<Punctual>(policy: ())
        try runtime.submit(.ring(after: .seconds(30)), to: key, at: start)
        let noted = try runtime.pass(Outage(from: at(10), until: at(60)))
        #expect(noted.map(\.type) == [OutageCounted.type])
        #expect(noted.map(\.time) == [at(60)])
        #expect(runtime.nextDeadline == at(80))
        #expect(try runtime.foldCheck().isEmpty)
    }

    @Test func `a deadline before the outage fires`() throws {
        var runtime = InMemoryRuntime<Punctual>(policy: ())
        try runtime.submit(.ring(after: .seconds(10)), to: key, at: start)
        let events = try runtime.pass(Outage(from: at(10), until: at(60)))
        #expect(events.map(\.type) == [Rang.type])
        #expect(events.map(\.time) == [at(10)])
    }

    @Test func `a repeated outage counts once`() throws {
        var runtime = InMemoryRuntime<Punctual>(policy: ())
        try runtime.submit(.ring(after: .seconds(30)), to: key, at: start)
        try runtime.pass(Outage(from: at(10), until: at(40)))
        #expect(try runtime.pass(Outage(from: at(10), until: at(40))).isEmpty)
        // An outage that continues counts only for the rest.
        let rest = try runtime.pass(Outage(from: at(10), until: at(60)))
        #expect(try rest.map { try OutageCounted(jsonBytes: $0.data).from } == [at(40)])
        #expect(runtime.nextDeadline == at(80))
    }

    @Test func `an outage counts from the last event of the aggregate`() throws {
        var runtime = InMemoryRuntime<Punctual>(policy: ())
        try runtime.submit(.ring(after: .seconds(30)), to: key, at: at(5))
        try runtime.pass(Outage(from: start, until: at(60)))
        #expect(runtime.nextDeadline == at(90))
    }

    @Test func `a machine without limits for clients is not notified`() throws {
        var runtime = InMemoryRuntime<Counter>(policy: ())
        try runtime.submit(.ring(after: .seconds(30)), to: key, at: start)
        #expect(try runtime.pass(Outage(from: at(10), until: at(60))).isEmpty)
        #expect(runtime.nextDeadline == at(30))
    }
}
