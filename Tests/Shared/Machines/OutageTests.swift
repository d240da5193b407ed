import Contracts
import Machines
import Records
import TestSupport
import Testing
import Timeline

/// Time in which nobody reached a machine.
@Suite struct OutageTests {
    private let key = AggregateKey.device("a")
    private let start = Instant(milliseconds: 1_000_000)

    private func at(_ seconds: Int64) -> Instant { start + .seconds(seconds) }

    @Test func aLimitStandsStillWhileItLasts() throws {
        var runtime = InMemoryRuntime<Punctual>(policy: ())
        try runtime.submit(.ring(after: .seconds(30)), to: key, at: start)
        let noted = try runtime.pass(Outage(from: at(10), until: at(60)))
        #expect(noted.map(\.type) == [OutageCounted.type])
        #expect(noted.map(\.time) == [at(60)])
        #expect(runtime.nextDeadline == at(80))
        #expect(try runtime.foldCheck().isEmpty)
    }

    @Test func whatWasDueBeforeItWasMissed() throws {
        var runtime = InMemoryRuntime<Punctual>(policy: ())
        try runtime.submit(.ring(after: .seconds(10)), to: key, at: start)
        let events = try runtime.pass(Outage(from: at(10), until: at(60)))
        #expect(events.map(\.type) == [Rang.type])
        #expect(events.map(\.time) == [at(10)])
    }

    @Test func toldTwiceItCountsOnce() throws {
        var runtime = InMemoryRuntime<Punctual>(policy: ())
        try runtime.submit(.ring(after: .seconds(30)), to: key, at: start)
        try runtime.pass(Outage(from: at(10), until: at(40)))
        #expect(try runtime.pass(Outage(from: at(10), until: at(40))).isEmpty)
        // One that went on counts for the rest of it.
        let rest = try runtime.pass(Outage(from: at(10), until: at(60)))
        #expect(try rest.map { try OutageCounted(jsonBytes: $0.data).from } == [at(40)])
        #expect(runtime.nextDeadline == at(80))
    }

    @Test func itBeginsForAnAggregateWithTheLastThingThatHappenedToIt() throws {
        var runtime = InMemoryRuntime<Punctual>(policy: ())
        try runtime.submit(.ring(after: .seconds(30)), to: key, at: at(5))
        try runtime.pass(Outage(from: start, until: at(60)))
        #expect(runtime.nextDeadline == at(90))
    }

    @Test func aMachineWithoutLimitsOfOthersIsToldNothing() throws {
        var runtime = InMemoryRuntime<Counter>(policy: ())
        try runtime.submit(.ring(after: .seconds(30)), to: key, at: start)
        #expect(try runtime.pass(Outage(from: at(10), until: at(60))).isEmpty)
        #expect(runtime.nextDeadline == at(30))
    }
}
