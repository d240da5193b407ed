public import Contracts
public import Machines
public import Records
public import Timeline

/// What the traces of a service are made of.
public struct TraceScript<M: Machine>: Sendable {
    /// Shows a part of the state, or the state in other words.
    public typealias View = @Sendable (M, TraceStep) -> JSON

    public var key = AggregateKey.device("phone")
    public var beginning = Instant(milliseconds: 1_750_000_000_000)
    public var policy: M.Policy
    /// The members that a trace may have besides its source and steps.
    public var settings: Set<String> = []
    /// The members that a step may have besides those of ``TraceStep`` and the ``views``.
    public var members: Set<String> = []
    /// What comes before the first step, to be played like steps.
    public var preamble: [TraceStep] = []
    /// The identifiers that the machine makes up: event types with the member that tells them first.
    public var identifiers: [(type: String, member: String)] = []
    /// Each is compared with the step's member of its name.
    public var views: [String: View] = ["state": { state, _ in (try? JSON(parsing: state.jsonBytes)) ?? .null }]
    /// Makes another service's event of a step; nil where the step is none. Aliases and moments in the step are resolved.
    public var event: @Sendable (TraceStep, TracePlayer<M>) throws -> (any EventData)? = { _, _ in nil }
    /// Makes the command of a step, in the same way.
    public var command: @Sendable (TraceStep, TracePlayer<M>) throws -> M.Command
    /// The code of a refusal.
    public var code: @Sendable (M.Refusal) -> String

    public init(
        policy: M.Policy, code: @escaping @Sendable (M.Refusal) -> String,
        command: @escaping @Sendable (TraceStep, TracePlayer<M>) throws -> M.Command
    ) {
        self.policy = policy
        self.code = code
        self.command = command
    }

    /// The members of a trace that nobody would read.
    public func unknown(in trace: Trace) -> [String] {
        let settings = settings.union(["source", "steps"])
        let members = members.union(["at", "do", "app", "with", "events", "refused"]).union(views.keys)
        let names = { (document: JSON) in Set((document.members ?? []).map(\.name)) }
        return names(trace.document).subtracting(settings).sorted()
            + trace.steps.flatMap { names($0.document).subtracting(members).sorted() }
    }

    /// Where a state departs from what a step says of it.
    public func differences(_ state: M, _ step: TraceStep, _ words: TraceWords) -> [String] {
        views.flatMap { name, view in
            step[name].map { words.differences(view(state, step), $0, name) } ?? []
        }
    }
}

extension TraceFailed {
    /// A step asks for what its service's script does not have.
    public static func unknown(_ step: TraceStep) -> TraceFailed {
        TraceFailed(place: step.action, reasons: ["is no action"])
    }
}

extension TraceStep {
    /// The data of another service's event: what the step leaves out is as in a new value; nil where it is none of those.
    public func event(of types: [any EventData.Type]) throws -> (any EventData)? {
        guard let type = types.first(where: { $0.type == action }) else { return nil }
        return try type.init(json: try JSON(parsing: type.placeholder.jsonBytes).overlaid(with: with))
    }
}

extension JSON {
    /// With another document laid over it.
    public func overlaid(with over: JSON) -> JSON {
        guard let members, let more = over.members else { return over }
        let kept = members.map { member in
            Member(member.name, over[member.name].map { member.value.overlaid(with: $0) } ?? member.value)
        }
        return .object(kept + more.filter { self[$0.name] == nil })
    }

    public func without(_ name: String) -> JSON { .object((members ?? []).filter { $0.name != name }) }
}
