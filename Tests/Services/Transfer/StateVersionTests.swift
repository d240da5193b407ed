import Foundation
import Machines
import OrderedCollections
import Records
import TestSupport
import Testing

@testable import TransferMachine

@Suite("Versions of the stored state") struct StateVersionTests {
    private let fixtures = StateFixtures<TransferMachine>(.module)

    @Test func `a change of the stored form needs a new version`() throws {
        try StateFixtures<TransferMachine>.store(
            try Trace.all(in: .module, atLeast: 40).map { trace in
                var player = TracePlayer(trace, try .transfer(trace))
                try player.play()
                return (trace.name, player.runtime.log)
            })
        #expect(
            StoredForm.text(of: TransferMachine.self) == (try fixtures.form(TransferMachine.version)),
            "raise TransferMachine.version, let `upgraded` read the former version, then run this test with STORE_STATES set to the folder States"
        )
    }

    @Test func `states of this version are read as they were written`() throws {
        let states = try fixtures.states(TransferMachine.version)
        #expect(!states.isEmpty)
        for fixture in states {
            #expect(TransferMachine(binary: fixture.binary)?.binary == fixture.binary, "\(fixture.name)")
            #expect(fixture.folded.binary == fixture.binary, "\(fixture.name)")
        }
    }

    @Test func `each older version can be read`() throws {
        for version in 1..<TransferMachine.version {
            for fixture in try fixtures.states(version) {
                #expect(TransferMachine.upgraded(fixture.binary, from: version) != nil, "\(fixture.name)")
            }
        }
    }
}
