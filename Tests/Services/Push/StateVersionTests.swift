import Foundation
import Machines
import Records
import TestSupport
import Testing

@testable import PushMachine

@Suite("Versions of the stored state") struct StateVersionTests {
    private let fixtures = StateFixtures<PushMachine>(.module)

    @Test func `a change of the stored form needs a new version`() throws {
        try StateFixtures<PushMachine>.store(
            try Trace.all(in: .module, atLeast: 40).map { trace in
                var player = TracePlayer(trace, try .push(trace))
                try player.play()
                return (trace.name, player.runtime.log)
            })
        #expect(
            StoredForm.text(of: PushMachine.self) == (try fixtures.form(PushMachine.version)),
            "raise PushMachine.version, let `upgraded` read the former version, then run this test with STORE_STATES set to the folder States of the sources"
        )
    }

    @Test func `states of this version are read as they were written`() throws {
        let states = try fixtures.states(PushMachine.version)
        #expect(!states.isEmpty)
        for fixture in states {
            #expect(PushMachine(binary: fixture.binary)?.binary == fixture.binary, "\(fixture.name)")
            #expect(fixture.folded.binary == fixture.binary, "\(fixture.name)")
        }
    }

    @Test func `each older version can be read`() throws {
        for version in 1..<PushMachine.version {
            for fixture in try fixtures.states(version) {
                #expect(PushMachine.upgraded(fixture.binary, from: version) != nil, "\(fixture.name)")
            }
        }
    }
}
