import Foundation
import Machines
import Records
import TestSupport
import Testing

@testable import LifecycleMachine

@Suite("Versions of the stored state") struct StateVersionTests {
    private let fixtures = StateFixtures<LifecycleMachine>(.module)

    @Test func `a change of the stored form needs a new version`() throws {
        try StateFixtures<LifecycleMachine>.store(
            try Trace.all().map { trace in
                var player = TracePlayer(trace, try .lifecycle(trace))
                try player.play()
                return (trace.name, player.runtime.log)
            })
        #expect(
            StoredForm.text(of: LifecycleMachine.self) == (try fixtures.form(LifecycleMachine.version)),
            "raise LifecycleMachine.version, let `upgraded` read the former version, then run this with STORE_STATES set to the source's folder States"
        )
    }

    @Test func `states of this version are read as they were written`() throws {
        let states = try fixtures.states(LifecycleMachine.version)
        #expect(!states.isEmpty)
        for fixture in states {
            #expect(LifecycleMachine(binary: fixture.binary)?.binary == fixture.binary, "\(fixture.name)")
            #expect(fixture.folded.binary == fixture.binary, "\(fixture.name)")
        }
    }

    @Test func `each older version can be read`() throws {
        for version in 1..<LifecycleMachine.version {
            for fixture in try fixtures.states(version) {
                #expect(LifecycleMachine.upgraded(fixture.binary, from: version) != nil, "\(fixture.name)")
            }
        }
    }
}
