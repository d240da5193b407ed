import Contracts
import FetchCore
import LifecycleCore
import MachineTesting
import PushCore
import Records
import Testing
import Traces
import TransferCore

/// Each disputed rule has golden traces of both readings, and the reading decides their outcome.
@Suite(.ownThread) struct ReadingTests {
    private static let machines: [any TracedMachine.Type] = [
        LifecycleMachine.self, FetchMachine.self, PushMachine.self, TransferMachine.self,
    ]

    @Test func `each disputed rule has a trace of each reading`() throws {
        let shown = try Self.machines.flatMap { try $0.traces() }.flatMap { trace in
            (trace[Generations.readings]?.members ?? []).map { "\($0.name): \($0.value.string ?? "")" }
        }
        let needed = DisputedRule.allCases.flatMap { rule in Reading.allCases.map { "\(rule): \($0)" } }
        #expect(Set(shown) == Set(needed))
    }

    @Test func `the other reading gives other events`() throws {
        for machine in Self.machines { try check(machine) }
    }

    private func check<M: TracedMachine>(_ machine: M.Type) throws {
        for trace in try M.traces() {
            guard let readings = trace[Generations.readings]?.members else { continue }
            let others = readings.map { JSON.Member($0.name, $0.value == "apple" ? "document" : "apple") }
            let over = JSON.object([.init(Generations.readings, .object(others))])
            let other = try Trace(trace.name, trace.document.overlaid(with: over))
            #expect(throws: TraceFailed.self, "\(M.folder) \(trace.name)") { try M.play(other) }
        }
    }
}
