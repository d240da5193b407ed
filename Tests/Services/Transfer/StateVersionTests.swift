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

    @Test func `an upgraded state equals its fold except for values that the old form lacked`() throws {
        for version in 1..<TransferMachine.version {
            for fixture in try fixtures.states(version) {
                guard case .partial(let state) = TransferMachine.upgraded(fixture.binary, from: version) else {
                    Issue.record("version \(version) of \(fixture.name) can't be read")
                    continue
                }
                var folded = fixture.folded
                // Version 1 removed an invalidated session without an event.
                folded.sessions.removeAll { id, session in
                    session.isInvalidated && !session.hasUnfinishedTasks && session.undelivered.isEmpty
                }
                for id in folded.sessions.keys {
                    folded.sessions[id]?.relaunches = 0
                    folded.sessions[id]?.hasFinishedEvents = false
                    for index in folded.sessions[id]?.tasks.indices ?? 0..<0 {
                        folded.sessions[id]?.tasks[index].undeliveredBytes = 0
                        folded.sessions[id]?.tasks[index].undeliveredResume = nil
                        folded.sessions[id]?.tasks[index].progressAt = nil
                        folded.sessions[id]?.tasks[index].connectFailures = 0
                    }
                }
                #expect(
                    String(decoding: state.jsonBytes, as: UTF8.self)
                        == String(decoding: folded.jsonBytes, as: UTF8.self),
                    "\(fixture.name)")
            }
        }
        #expect(TransferMachine.upgraded([1, 2, 3], from: 1)?.state.binary == nil)
    }
}
