import Contracts
public import Machines
import Records
public import Timeline

/// Plays a trace with any machine in memory, and compares every step with the trace.
public struct TracePlayer<M: Machine> {
    public private(set) var runtime: InMemoryRuntime<M>
    /// The step being played.
    public private(set) var moment: Instant
    public var state: M { runtime.state(script.key) }
    private let trace: Trace
    private let script: TraceScript<M>
    private var words: TraceWords
    private var delivered = 0

    public init(_ trace: Trace, _ script: TraceScript<M>) {
        self.trace = trace
        self.script = script
        moment = script.beginning
        words = TraceWords(beginning: script.beginning, identifiers: script.identifiers)
        runtime = InMemoryRuntime(policy: script.policy, seed: trace.name)
    }

    /// Plays every step, and then checks that the state is the fold of its events.
    ///
    /// - Throws: ``TraceFailed`` for the first failing step.
    public mutating func play() throws {
        let unknown = script.unknown(in: trace)
        guard unknown.isEmpty else { throw TraceFailed(place: trace.name, reasons: unknown.map { "no \($0)" }) }
        for step in script.preamble { words.note(try perform(step)) }
        for (index, step) in trace.steps.enumerated() {
            let reasons: [String]
            do { reasons = try play(step) } catch { reasons = ["\(error)"] }
            guard reasons.isEmpty else {
                throw TraceFailed(
                    place: "\(trace.name), step \(index + 1): \(step.action) at \(step.at) s", reasons: reasons)
            }
        }
        guard try runtime.foldCheck().isEmpty else {
            throw TraceFailed(place: trace.name, reasons: ["the state is not the fold of its events"])
        }
    }

    private mutating func play(_ step: TraceStep) throws -> [String] {
        let before = state.binary
        var reasons: [String] = []
        do {
            let events = try perform(step)
            if let refused = step.refused { reasons.append("was not refused with \(refused)") }
            words.note(events)
            reasons += words.differences(events, step.events)
        } catch let refusal as M.Refusal {
            let code = script.code(refusal)
            if code != step.refused { reasons.append("was refused with \(code)") }
            if state.binary != before { reasons.append("the refusal changed the state") }
        }
        return reasons + script.differences(state, step, words)
    }

    private mutating func perform(_ step: TraceStep) throws -> [Event] {
        moment = script.beginning + .seconds(step.at)
        let step = TraceStep(document: words.resolve(step.document))
        switch step.action {
        case "advance": return try runtime.advance(to: moment)
        case "outage":
            guard let from = step.with["from"]?.double else { throw TraceFailed.unknown(step) }
            return try runtime.pass(Outage(from: script.beginning + .seconds(from), until: moment))
        default:
            if let data = try script.event(step, self) { return try deliver(data) }
            return try runtime.submit(script.command(step, self), to: script.key, at: moment)
        }
    }

    private mutating func deliver(_ data: any EventData) throws -> [Event] {
        delivered += 1
        let id = DecisionIdentifiers.derived(trace.name, "event", String(delivered))
        let type = type(of: data)
        return try runtime.deliver(
            Event(
                id: id, source: String(type.type.prefix { $0 != "." }), type: type.type, version: type.version,
                key: script.key, app: data.app, time: moment, correlation: id, causation: nil, traceparent: nil,
                data: data.jsonBytes))
    }
}
