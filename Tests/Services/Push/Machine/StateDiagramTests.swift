import Contracts
import Foundation
import RandomScenarios
import Machines
import OrderedCollections
import PushCore
import Records
import MachineTesting
import Testing
import Timeline
import Traces

/// Compares the state diagram in the machine's documentation with the transitions of random and golden notifications.
@Suite(.ownThread) struct PushStateDiagramTests {
    @Test func `the diagram has exactly the edges that notifications take`() throws {
        var taken: Set<StateDiagram.Edge> = []
        for seed in 1...25 {
            var life = try PushLife(SplitMix64(seed: UInt64(seed) * 104_729))
            for _ in 0..<300 { try life.step() }
            try taken.formUnion(edges(of: life.runtime.log))
        }
        for trace in try PushMachine.traces() {
            var player = TracePlayer(trace, try .push(trace))
            // Another test checks the outcome of the trace.
            try? player.play()
            try taken.formUnion(edges(of: player.runtime.log))
        }
        let drawn = try StateDiagram(in: "Services/Push/Machine/PushMachine.swift").edges
        let undrawn = taken.subtracting(drawn).sorted()
        #expect(undrawn.isEmpty, "transitions that the diagram lacks")
        let untaken = drawn.subtracting(taken).sorted()
        #expect(untaken.isEmpty, "transitions that no notification takes")
    }

    @Test func `the README has the same diagram`() throws {
        let diagram = try StateDiagram(in: "Services/Push/Machine/PushMachine.swift")
        #expect(diagram.lines.count > 10)
        #expect(try StateDiagram(in: "Services/Push/README.md") == diagram)
    }

    /// Returns the transitions of one device's notifications in a log.
    private func edges(of log: [Event]) throws -> Set<StateDiagram.Edge> {
        var edges: Set<StateDiagram.Edge> = []
        var device = PushMachine()
        for event in log where event.source == PushEvent.source {
            let data = try PushEvent(type: event.type, version: event.version, data: event.data)
            let before = device.stages
            device.apply(data, at: event.time)
            let after = device.stages
            for id in Set(before.keys).union(after.keys) {
                let (from, to) = (before[id] ?? StateDiagram.outside, after[id] ?? StateDiagram.outside)
                guard from != to else { continue }
                edges.insert(StateDiagram.Edge(from: from, to: to, cause: data.cause(for: id)))
            }
        }
        return edges
    }
}

extension PushMachine {
    /// The state of each notification.
    fileprivate var stages: [String: String] {
        var stages = Dictionary(uniqueKeysWithValues: messages.map { ($0.key, $0.value.stage.rawValue) })
        for shown in shown { stages[shown.id] = "shown" }
        return stages
    }
}

extension PushEvent {
    /// Returns the label of the transition in the diagram: its own event, or the event of its app or of another
    /// notification.
    fileprivate func cause(for id: String) -> String {
        switch self {
        case .tokenUnregistered: "voided"
        case .wakeGranted: "woken"
        default: status?.notification == id ? String(data.word) : "crowded"
        }
    }
}

extension EventData {
    fileprivate var word: Substring { Self.type.split(separator: ".").last ?? "" }
}
