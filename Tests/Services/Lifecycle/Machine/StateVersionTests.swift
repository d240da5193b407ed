import Foundation
import Machines
import Records
import MachineTesting
import Testing
import Traces

@testable import LifecycleCore

@Suite("Versions of the stored state") struct StateVersionTests {
    @Test func `each older version can be read`() throws {
        for version in 1..<LifecycleMachine.version {
            for fixture in try LifecycleMachine.fixtures.states(version) {
                #expect(LifecycleMachine.upgraded(fixture.binary, from: version) != nil, "\(fixture.name)")
            }
        }
    }
}
