import Foundation
import Machines
import Records
import MachineTesting
import Testing
import Traces

@testable import PushCore

@Suite("Versions of the stored state") struct StateVersionTests {
    @Test func `an upgraded state equals the fold of its history`() throws {
        for version in 1..<PushMachine.version {
            for fixture in try PushMachine.fixtures.states(version) {
                guard case .exact(let state) = PushMachine.upgraded(fixture.binary, from: version) else {
                    Issue.record("version \(version) of \(fixture.name) can't be read")
                    continue
                }
                #expect(state.binary == fixture.folded.binary, "\(fixture.name)")
            }
        }
        #expect(PushMachine.upgraded([1, 2, 3], from: 1)?.state.binary == nil)
    }
}
