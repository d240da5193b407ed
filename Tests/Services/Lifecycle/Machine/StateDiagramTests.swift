import Contracts
import Foundation
import LifecycleCore
import RandomScenarios
import Machines
import OrderedCollections
import Records
import MachineTesting
import Testing
import Timeline
import Traces

/// Compares the state diagram in the machine's documentation with the transitions of apps.
@Suite(.ownThread) struct StateDiagramTests {
    @Test func `the diagram has exactly the transitions that apps take`() throws {
        var taken = TakenEdges()
        for seed in 1...20 {
            var life = LifecycleLife(seed: UInt64(seed) * 104_729)
            for _ in 0..<150 { try life.step() }
            try taken.collect(from: life.runtime.log)
        }
        for handlersReturn in HandlersReturn.allCases {
            for exits in [false, true] {
                try taken.explore(Manifest(exitsOnSuspend: exits, handlersReturn: handlersReturn))
            }
        }
        for trace in try LifecycleMachine.traces() {
            var player = TracePlayer(trace, try .lifecycle(trace))
            // Another test checks the events of the trace.
            try? player.play()
            try taken.collect(from: player.runtime.log)
        }
        let drawn = try StateDiagram(in: "Services/Lifecycle/Machine/LifecycleMachine.swift").edges
        let undrawn = taken.edges.subtracting(drawn).sorted()
        #expect(undrawn.isEmpty, "taken, but not drawn")
        let untaken = drawn.subtracting(taken.edges).sorted()
        #expect(untaken.isEmpty, "drawn, but never taken")
    }

    @Test func `the README shows the same diagram`() throws {
        let diagram = try StateDiagram(in: "Services/Lifecycle/Machine/LifecycleMachine.swift")
        #expect(diagram.lines.count > 10)
        #expect(try StateDiagram(in: "Services/Lifecycle/README.md") == diagram)
    }
}

/// The transitions that events caused. A prewarmed process changes no state, but is in the diagram.
private struct TakenEdges {
    private(set) var edges: Set<StateDiagram.Edge> = []

    /// Applies every input in every reachable situation, with another app that may take the screen. Random scenarios
    /// rarely reach the rare edges.
    mutating func explore(_ manifest: Manifest) throws {
        let key = AggregateKey.device("d")
        var (locked, pressed, hot) = (ConditionsReport(), ConditionsReport(), ConditionsReport())
        locked.locked = true
        pressed.memoryPressure = .critical
        hot.thermal = .critical
        var other = manifest
        other.memoryMB = 1
        let commands: [LifecycleCommand] =
            AppTransition.allCases.map { .transition(app: "a", $0) }
            + Callback.allCases.map { .completeCallback(app: "a", $0, CallbackCompletion()) }
            + [
                .transition(app: "b", .launch), .updateConditions(locked), .updateConditions(pressed),
                .updateConditions(hot), .power(.reboot), .act(app: "a", ActionReport(.fileLock)),
                .act(app: "a", ActionReport(.uiUpdate, on: .background)),
                .install(app: "a", manifest), .install(app: "a", other), .uninstall(app: "a"),
                .beginTask(app: "a", TaskRequest()),
            ]
        var start = InMemoryRuntime<LifecycleMachine>(policy: LifecyclePolicy())
        try start.submit(.register(Registration(profile: .ios15)), to: key, at: .epoch)
        try start.submit(.install(app: "b", Manifest()), to: key, at: .epoch)
        var unexplored = [start]
        var known: Set<[String]> = []
        while let here = unexplored.popLast() {
            func go(_ step: (inout InMemoryRuntime<LifecycleMachine>) throws -> [Event]) throws {
                var there = here
                // A refused input causes no transition.
                guard let events = try? step(&there) else { return }
                try collect(from: events, to: here.state(key))
                if known.insert(there.state(key).situation).inserted { unexplored.append(there) }
            }
            let now = here.aggregates[key]?.now ?? .epoch
            for command in commands { try go { try $0.submit(command, to: key, at: now) } }
            if let due = here.nextDeadline { try go { try $0.advance(to: due) } }
        }
    }

    mutating func collect(from events: [Event], to device: LifecycleMachine = LifecycleMachine()) throws {
        var device = device
        for event in events {
            let data = try LifecycleEvent(type: event.type, version: event.version, data: event.data)
            let before = device.apps
            device.apply(data, at: event.time)
            for app in before.keys where device.apps[app] == nil {
                #expect(data.isTheEndOfApps, "\(event.type) takes an app away")
            }
            for (app, record) in device.apps {
                let from = before[app]?.state.rawValue ?? StateDiagram.outside
                let to = record.state.rawValue
                let isPrewarm = event.type == LifecycleEvent.AppPrewarmed.type && event.app == app
                guard from != to || isPrewarm else { continue }
                edges.insert(StateDiagram.Edge(from: from, to: to, cause: data.cause))
            }
        }
    }
}

extension LifecycleMachine {
    /// The part of the state that determines the next transitions.
    fileprivate var situation: [String] {
        let apps = apps.map { id, app in
            let callbacks = app.pendingCallbacks.map(\.callback.rawValue)
            return "\(id) \(app.state) \(callbacks) \(app.ending?.rawValue ?? "") \(app.tasks.isEmpty)"
        }
        return apps.sorted() + ["\(conditions.locked == true)"]
    }
}

extension LifecycleEvent {
    /// The diagram omits uninstallation and deregistration, which are possible in every state.
    fileprivate var isTheEndOfApps: Bool {
        switch self {
        case .appUninstalled, .deviceDeregistered: true
        default: false
        }
    }

    /// Returns the label in the diagram: the cause in the event, else the event. All limits have one label, all
    /// violations another.
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
    fileprivate var cause: String {
        switch self {
        case .launchTimeout, .didEnterBackgroundTimeout, .backgroundTaskTimeout, .fetchTimeout, .pushTimeout,
            .transferTimeout, .taskRequestTimeout:
            "timeout"
        case .fileLockHeld, .voipWithoutCall, .voipResumedTooOften, .uiOffMainThread, .uiInBackground:
            "violation"
        case .forceQuit, .crash, .exit, .exitedOnSuspend, .powerOff, .updated, .uninstalled, .memoryPressure, .thermal:
            rawValue
        }
    }
}

extension EventData {
    fileprivate var word: String { String(Self.type.split(separator: ".").last ?? "") }
}
