public import Contracts
public import Machines
public import Records
public import Timeline

/// The parts of a service's traces.
public struct TraceScript<M: Machine>: Sendable {
    /// Returns a part or another form of the state.
    public typealias View = @Sendable (M, TraceStep) -> JSON

    public var key = AggregateKey.device("phone")
    public var beginning = Instant(milliseconds: 1_750_000_000_000)
    public var policy: M.Policy
    /// The members that a trace may have besides its source, its independence and its steps.
    public var settings: Set<String> = []
    /// The members that a step may have besides those of ``TraceStep`` and the ``views``.
    public var members: Set<String> = []
    /// Steps before the first step of the trace.
    public var preamble: [TraceStep] = []
    /// The identifiers of the machine: the event type that first contains each, with its member.
    public var identifiers: [(type: String, member: String)] = []
    /// Views of the state, each compared with the step's member of the same name.
    public var views: [String: View] = ["state": { state, _ in (try? JSON(parsing: state.jsonBytes)) ?? .null }]
    /// Makes another service's event from a step; nil if the step is a command. Aliases and times in the step are
    /// resolved.
    public var event: @Sendable (TraceStep, TracePlayer<M>) throws -> (any EventData)? = { _, _ in nil }
    /// Makes the command of a step. Aliases and times in the step are resolved.
    public var command: @Sendable (TraceStep, TracePlayer<M>) throws -> M.Command
    /// Returns the code of a refusal.
    public var code: @Sendable (M.Refusal) -> String

    public init(
        policy: M.Policy, code: @escaping @Sendable (M.Refusal) -> String,
        command: @escaping @Sendable (TraceStep, TracePlayer<M>) throws -> M.Command
    ) {
        self.policy = policy
        self.code = code
        self.command = command
    }

    /// Returns the members of a trace that the script does not know.
    public func unknown(in trace: Trace) -> [String] {
        let settings = settings.union(["source", "independent", "steps"])
        let members = members.union(["at", "do", "app", "with", "events", "refused"]).union(views.keys)
        let names = { (document: JSON) in Set((document.members ?? []).map(\.name)) }
        return names(trace.document).subtracting(settings).sorted()
            + trace.steps.flatMap { names($0.document).subtracting(members).sorted() }
    }

    /// Returns the differences between a state and the expectations of a step.
    public func differences(_ state: M, _ step: TraceStep, _ words: TraceWords) -> [String] {
        views.flatMap { name, view in
            step[name].map { words.differences(view(state, step), $0, name) } ?? []
        }
    }
}

extension TraceFailed {
    /// The error for a step with an unknown action.
    public static func unknown(_ step: TraceStep) -> TraceFailed {
        TraceFailed(place: step.action, reasons: ["is an unknown action"])
    }
}

extension TraceStep {
    /// Returns another service's event. Members missing in the step keep the value of a new event; nil if no type
    /// matches.
    public func event(of types: [any EventData.Type]) throws -> (any EventData)? {
        guard let type = types.first(where: { $0.type == action }) else { return nil }
        return try type.init(json: try JSON(parsing: type.placeholder.jsonBytes).overlaid(with: with))
    }
}

extension JSON {
    /// Returns this document with the members of another document laid over it.
    public func overlaid(with over: JSON) -> JSON {
        guard let members, let more = over.members else { return over }
        let kept = members.map { member in
            Member(member.name, over[member.name].map { member.value.overlaid(with: $0) } ?? member.value)
        }
        return .object(kept + more.filter { self[$0.name] == nil })
    }

    public func without(_ name: String) -> JSON { .object((members ?? []).filter { $0.name != name }) }
}
