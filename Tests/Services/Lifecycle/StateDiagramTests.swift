import Contracts
import Foundation
import LifecycleMachine
import Lives
import Machines
import OrderedCollections
import Records
import TestSupport
import Testing

/// The diagram of states in the machine's documentation against what apps live through.
@Suite(.aside) struct StateDiagramTests {
    @Test func theDiagramHasTheEdgesThatLivesTakeAndNoOther() throws {
        var taken: Set<Edge> = []
        for seed in 1...60 {
            var life = LifecycleLife(seed: UInt64(seed) * 104_729)
            for _ in 0..<400 { try life.step() }
            try Edge.collect(from: life.runtime.log, into: &taken)
        }
        for trace in try Trace.all(in: .module, atLeast: 61) {
            var player = TracePlayer(trace, try .lifecycle(trace))
            try player.play()
            try Edge.collect(from: player.runtime.log, into: &taken)
        }
        let drawn = try Set(Self.diagram(in: "Machine/LifecycleMachine.swift").flatMap(Edge.parse))
        #expect(taken.subtracting(drawn).sorted() == [], "taken, but not drawn")
        #expect(drawn.subtracting(taken).sorted() == [], "drawn, but never taken")
    }

    @Test func theReadmeShowsTheSameDiagram() throws {
        let diagram = try Self.diagram(in: "Machine/LifecycleMachine.swift")
        #expect(diagram.count > 10)
        #expect(try Self.diagram(in: "README.md") == diagram)
    }

    /// The lines of the first diagram in a file of the service, without what makes them a comment.
    private static func diagram(in file: String) throws -> [String] {
        let root = (0..<4).reduce(URL(filePath: #filePath)) { url, _ in url.deletingLastPathComponent() }
        let text = try String(contentsOf: root.appending(path: "Services/Lifecycle/\(file)"), encoding: .utf8)
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false).map { line in
            line.hasPrefix("/// ") ? String(line.dropFirst(4)) : String(line)
        }
        let begin = try #require(lines.firstIndex(of: "```mermaid"), "\(file) has no diagram")
        return Array(lines[begin...].dropFirst().prefix { $0 != "```" })
    }
}

/// One app came from one state to another.
private struct Edge: Hashable, Comparable, CustomStringConvertible {
    /// As a diagram calls the time before an app is there.
    static let outside = "[*]"

    var from: String
    var to: String
    var cause: String
    var description: String { "\(from) --> \(to): \(cause)" }

    static func < (one: Edge, other: Edge) -> Bool { one.description < other.description }

    /// The edges that a line of a diagram draws, one for each cause.
    static func parse(_ line: String) -> [Edge] {
        guard let match = line.wholeMatch(of: /\s*(\S+) --> (\S+): (.+)/) else { return [] }
        return match.3.split(separator: ", ").map { Edge(from: String(match.1), to: String(match.2), cause: String($0)) }
    }

    /// Where each event of a device's log took its apps. A process that is made ahead changes no state, but is drawn.
    static func collect(from log: [Event], into edges: inout Set<Edge>) throws {
        var device = LifecycleMachine()
        for event in log {
            let data = try LifecycleEvent(type: event.type, version: event.version, data: event.data)
            let before = device.apps
            device.apply(data, at: event.time)
            for app in before.keys where device.apps[app] == nil {
                #expect(data.isTheEndOfApps, "\(event.type) takes an app away")
            }
            for (app, record) in device.apps {
                let from = before[app]?.state.rawValue ?? outside
                let to = record.state.rawValue
                let isPrewarm = event.type == LifecycleEvent.AppPrewarmed.type && event.app == app
                guard from != to || isPrewarm else { continue }
                edges.insert(Edge(from: from, to: to, cause: data.cause))
            }
        }
    }
}

extension LifecycleEvent {
    /// Whatever the state, an app may be uninstalled, and its device deregistered: that is not drawn.
    fileprivate var isTheEndOfApps: Bool {
        switch self {
        case .appUninstalled, .deviceDeregistered: true
        default: false
        }
    }

    /// In the diagram's words: why it happened, where the event tells, and else what happened. One word for all limits.
    fileprivate var cause: String {
        switch self {
        case .appResigned(let event): event.cause.rawValue
        case .appBackgrounded(let event): event.cause.rawValue
        case .appTerminating(let event): event.reason.cause
        case .appTerminated(let event): event.reason.cause
        default: data.word
        }
    }
}

extension EndReason {
    fileprivate var cause: String { rawValue.hasSuffix("Timeout") ? "timeout" : rawValue }
}

extension EventData {
    fileprivate var word: String { String(Self.type.split(separator: ".").last ?? "") }
}
