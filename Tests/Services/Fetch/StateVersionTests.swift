import Foundation
import Machines
import OrderedCollections
import Records
import TestSupport
import Testing
import Timeline

@testable import FetchMachine

@Suite("Versions of the stored state") struct StateVersionTests {
    private let fixtures = StateFixtures<FetchMachine>(.module)

    @Test func `a change of the stored form needs a new version`() throws {
        try StateFixtures<FetchMachine>.store(
            try Trace.all(in: .module, atLeast: 40).map { trace in
                var player = TracePlayer(trace, try .fetch(trace))
                try player.play()
                return (trace.name, player.runtime.log)
            })
        #expect(
            StoredForm.text(of: FetchMachine.self) == (try fixtures.form(FetchMachine.version)),
            "raise FetchMachine.version, let `upgraded` read the former version, then run this test with STORE_STATES set to the folder States"
        )
    }

    @Test func `states of this version are read as they were written`() throws {
        let states = try fixtures.states(FetchMachine.version)
        #expect(!states.isEmpty)
        for fixture in states {
            #expect(FetchMachine(binary: fixture.binary)?.binary == fixture.binary, "\(fixture.name)")
            #expect(fixture.folded.binary == fixture.binary, "\(fixture.name)")
        }
    }

    @Test func `an upgraded state equals its fold except for values that the old form lacked`() throws {
        for version in 1..<FetchMachine.version {
            for fixture in try fixtures.states(version) {
                guard case .partial(let state) = FetchMachine.upgraded(fixture.binary, from: version) else {
                    Issue.record("version \(version) of \(fixture.name) can't be read")
                    continue
                }
                var folded = fixture.folded
                for (name, app) in state.apps {
                    let usage = try #require(folded.apps[name]?.usage)
                    // The former weights were finer, so the new ones round differently.
                    #expect(zip(usage.hours, app.usage.hours).allSatisfy { abs($0 - $1) <= 1 }, "\(fixture.name)")
                    #expect(usage.hours.count == app.usage.hours.count)
                    folded.apps[name]?.usage = app.usage
                    folded.apps[name]?.reliability = ReliabilityScore()
                    folded.apps[name]?.budgetUsage = BudgetUsage()
                    folded.apps[name]?.contentAges = ContentAges()
                }
                folded.budgetUsage = BudgetUsage()
                folded.wokenAt = nil
                #expect(
                    String(decoding: state.jsonBytes, as: UTF8.self)
                        == String(decoding: folded.jsonBytes, as: UTF8.self),
                    "\(fixture.name)")
                #expect(state.reservedSlots.isEmpty, "an upgrade can't reserve times")
            }
        }
        #expect(FetchMachine.upgraded([1, 2, 3], from: 1)?.state.binary == nil)
    }

    @Test func `many openings of the old form fit into the weights`() {
        var hours = Array(repeating: 0, count: UsageProfile.hoursOfWeek)
        hours[9] = 100 * 1024
        hours[20] = 50 * 1024
        let usage = UsageProfile(hours: hours, opening: 1024, week: 2890)
        #expect(usage.hours[9] == 200 && usage.hours[20] == 100 && usage.hours[0] == 0)
        #expect(usage.openings == 150)
        #expect(!UsageProfile(hours: [], opening: 1024, week: 0).isLearned)
    }

    @Test func `thousands of openings within an hour count as many`() {
        var usage = UsageProfile()
        var fewest = Int.max
        for number in 1...20_000 {
            usage.learn(hour: 9, at: Instant(milliseconds: 1_750_000_000_000))
            if number > 2000 { fewest = min(fewest, usage.openings) }
        }
        #expect(fewest > 1000)
    }

    @Test func `the weights of an old state have any size`() {
        let hours = Array(repeating: Int.max, count: UsageProfile.hoursOfWeek)
        let usage = UsageProfile(hours: hours, opening: 1, week: 0)
        #expect(usage.hours.allSatisfy { $0 == 128 } && usage.openings > 1000)
    }

    @Test func `a state with a negative number of halvings can learn`() throws {
        var usage = try UsageProfile(json: ["halvings": .int(-9), "week": 0, "weights": []])
        usage.learn(hour: 9, at: Instant(milliseconds: 1_750_000_000_000))
        #expect(usage.peak == 255)
    }
}
