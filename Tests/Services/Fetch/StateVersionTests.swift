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

    @Test func `each older version can be read`() throws {
        for version in 1..<FetchMachine.version {
            for fixture in try fixtures.states(version) {
                #expect(FetchMachine.upgraded(fixture.binary, from: version) != nil, "\(fixture.name)")
            }
        }
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

    @Test func `a state with a negative number of halvings can learn`() throws {
        var usage = try UsageProfile(json: ["halvings": .int(-9), "week": 0, "weights": []])
        usage.learn(hour: 9, at: Instant(milliseconds: 1_750_000_000_000))
        #expect(usage.peak == 255)
    }
}
