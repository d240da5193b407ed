import RandomScenarios
import TestSupport
import Testing

/// The same inputs give the same events, byte for byte, in every process.
///
/// Each process has its own hash seed. So a machine that iterates a `Set` or a `Dictionary` in a decision would write
/// different logs in different processes.
@Suite("Determinism of the machines", .tags(.processes), .timeLimit(.minutes(10))) struct DeterminismTests {
    private static let inputs = 3000

    @Test(arguments: LivingMachine.allCases)
    func `a long run is the same in every process`(machine: LivingMachine) async throws {
        async let one = played(machine)
        async let other = played(machine)
        let (first, second) = try await (one, other)
        // Otherwise the test proves nothing.
        try #require(first.order != second.order, "the processes iterate sets in different orders")
        let refused = first.log.count { $0.hasPrefix("refused ") }
        let states = first.log.count { $0.hasPrefix("state ") }
        #expect(states >= Self.inputs / 100)
        #expect(refused < Self.inputs * 2 / 3, "the machine accepted a third of the inputs")
        #expect(first.log.count - refused - states > Self.inputs / 4)
        if first.log != second.log {
            let place = zip(first.log, second.log).enumerated().first { $1.0 != $1.1 }
            Issue.record("line \(place?.offset ?? -1):\n\(place?.element.0 ?? "ends")\n\(place?.element.1 ?? "ends")")
        }
    }

    private func played(_ machine: LivingMachine) async throws -> (log: [String], order: [String]) {
        let process = try ChildProcess.start(
            ChildProcess.product("playscenario"), [machine.rawValue, "20261121", String(Self.inputs)])
        let status = try await process.exit(within: 300)
        try #require(status == .exited(0), "\(process.errors.tail())")
        return (process.output.lines, process.errors.lines)
    }
}
