import Contracts
import Foundation
import RandomScenarios
import Machines
import OrderedCollections
import PushMachine
import Records
import TestSupport
import Testing
import Timeline

/// Compares the state diagram in the machine's documentation with the transitions of random and golden notifications.
@Suite(.ownThread) struct PushStateDiagramTests {
    @Test func `the diagram has exactly the edges that notifications take`() throws {
        var taken: Set<Edge> = []
        for seed in 1...25 {
            var life = try PushLife(SplitMix64(seed: UInt64(seed) * 104_729))
            for _ in 0..<300 { try life.step() }
            try taken.formUnion(edges(of: life.runtime.log))
        }
        for trace in try Trace.all(in: .module, atLeast: 1) {
            var player = TracePlayer(trace, try .push(trace))
            // Another test checks the outcome of the trace.
            try? player.play()
            try taken.formUnion(edges(of: player.runtime.log))
        }
        let drawn = try Set(Self.diagram(in: "Machine/PushMachine.swift").flatMap(Edge.parse))
        let undrawn = taken.subtracting(drawn).sorted()
        #expect(undrawn.isEmpty, "transitions that the diagram lacks")
        let untaken = drawn.subtracting(taken).sorted()
        #expect(untaken.isEmpty, "transitions that no notification takes")
    }

    @Test func `the README has the same diagram`() throws {
        let diagram = try Self.diagram(in: "Machine/PushMachine.swift")
        #expect(diagram.count > 10)
        #expect(try Self.diagram(in: "README.md") == diagram)
    }

    /// Returns the lines of the first diagram in a file of the service, without comment marks.
    private static func diagram(in file: String) throws -> [String] {
        let root = (0..<4).reduce(URL(filePath: #filePath)) { url, _ in url.deletingLastPathComponent() }
        let text = try String(contentsOf: root.appending(path: "Services/Push/\(file)"), encoding: .utf8)
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false).map { line in
            line.hasPrefix("/// ") ? String(line.dropFirst(4)) : String(line)
        }
        return Array(lines.drop { $0 != "```mermaid" }.dropFirst().prefix { $0 != "```" })
    }

    /// Returns the transitions of one device's notifications in a log.
    private func edges(of log: [Event]) throws -> Set<Edge> {
        var edges: Set<Edge> = []
        var device = PushMachine()
        for event in log where event.source == PushEvent.source {
            let data = try PushEvent(type: event.type, version: event.version, data: event.data)
            let before = device.stages
            device.apply(data, at: event.time)
            let after = device.stages
            for id in Set(before.keys).union(after.keys) {
                let (from, to) = (before[id] ?? Edge.outside, after[id] ?? Edge.outside)
                guard from != to else { continue }
                edges.insert(Edge(from: from, to: to, cause: data.cause(for: id)))
            }
        }
        return edges
    }
}

/// A transition of a notification from one state to another.
private struct Edge: Hashable, Comparable, CustomStringConvertible {
    /// The start and end state of a diagram.
    static let outside = "[*]"

    var from: String
    var to: String
    var cause: String
    var description: String { "\(from) --> \(to): \(cause)" }

    static func < (one: Edge, other: Edge) -> Bool { one.description < other.description }

    /// Parses the edges of a line of a diagram, one for each cause.
    static func parse(_ line: String) -> [Edge] {
        guard let match = line.wholeMatch(of: /\s*(\S+) --> (\S+): (.+)/) else { return [] }
        let (from, to) = (String(match.1), String(match.2))
        return match.3.split(separator: ", ").map { Edge(from: from, to: to, cause: String($0)) }
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
