import Contracts
import FetchCore
import Foundation
import LifecycleCore
import MachineTesting
import Machines
import PushCore
import Records
import Testing
import Timeline
import Traces
import TransferCore

/// Compares the stored form of every machine's state with fixtures of its version, and reads the fixtures of older versions.
///
/// `STORE_STATES=Tests/Traces/<folder>/States` writes the fixtures of a new version of that machine.
@Suite("Versions of the stored state") struct StoredStateTests {
    private static let machines: [any TracedMachine.Type] = [
        LifecycleMachine.self, FetchMachine.self, PushMachine.self, TransferMachine.self,
    ]

    @Test(arguments: machines)
    func `a change of the stored form needs a new version`(_ machine: any TracedMachine.Type) throws {
        try checkForm(machine)
    }

    @Test(arguments: machines)
    func `states of this version are read as they were written`(_ machine: any TracedMachine.Type) throws {
        try checkStates(machine)
    }

    @Test(arguments: machines)
    func `states of older versions are read`(_ machine: any TracedMachine.Type) throws {
        #expect(faults(machine) == [])
    }

    private func faults<M: TracedMachine>(_ machine: M.Type) -> [String] { M.fixtures.faults(before: M.version) }

    private func checkForm<M: TracedMachine>(_ machine: M.Type) throws {
        let folder = "\(M.folder)/States"
        if let source = ProcessInfo.processInfo.environment["STORE_STATES"], source.hasSuffix(folder) {
            try StateFixtures<M>.store(
                try M.traces().map { ($0.name, try M.play($0).runtime.log) }, in: URL(fileURLWithPath: source))
        }
        #expect(
            StoredForm.text(of: M.self) == (try M.fixtures.form(M.version)),
            "raise \(M.self).version, let `upgraded` read the former version, then run this test with STORE_STATES set to Tests/Traces/\(folder)"
        )
    }

    private func checkStates<M: TracedMachine>(_ machine: M.Type) throws {
        let states = try M.fixtures.states(M.version)
        #expect(!states.isEmpty)
        for fixture in states {
            #expect(M(binary: fixture.binary)?.binary == fixture.binary, "\(fixture.name)")
            #expect(fixture.folded.binary == fixture.binary, "\(fixture.name)")
        }
    }
}
