import FetchCore
import LifecycleCore
import MachineTesting
import PushCore
import Testing
import Traces
import TransferCore

/// Prints how many golden traces have which evidence.
@Suite struct EvidenceTests {
    /// The number of independent traces that must exist at least, so that lost evidence is noticed.
    private static let fewestIndependent = 300
    private static let machines: [any TracedMachine.Type] = [
        LifecycleMachine.self, FetchMachine.self, PushMachine.self, TransferMachine.self,
    ]

    @Test func `every trace has a source, and the kinds are counted`() throws {
        var all: [Trace] = []
        var rows: [String] = []
        for machine in Self.machines {
            let traces = try machine.traces()
            rows.append(row(machine.folder, traces))
            all += traces
        }
        let kinds = TraceSource.Kind.allCases.map(\.rawValue).joined(separator: " | ")
        let lines = ["| traces | all | \(kinds) | independent |"] + rows + [row("All", all)]
        print(lines.joined(separator: "\n"))
        #expect(all.count(where: \.isIndependent) >= Self.fewestIndependent)
    }

    private func row(_ name: String, _ traces: [Trace]) -> String {
        let kinds = TraceSource.Kind.allCases.map { kind in traces.count { $0.sources.first?.kind == kind } }
        let numbers = [traces.count] + kinds + [traces.count(where: \.isIndependent)]
        return "| \(name) | " + numbers.map(String.init).joined(separator: " | ") + " |"
    }
}
