public import Contracts
public import Machines
import OrderedCollections
public import Records
public import Timeline

/// Plays a trace against any machine, and holds every step to what the trace says.
public struct TracePlayer<M: Machine> {
    /// What a service's traces are made of.
    public struct Script: Sendable {
        public var key: AggregateKey
        public var beginning: Instant
        public var policy: M.Policy
        /// The data of other services' events that traces may deliver; what a step leaves out is as in a new value.
        public var foreign: [any EventData.Type]
        /// The identifiers that the machine makes up: event types with the member that tells them first.
        public var identifiers: [(type: String, member: String)]
        /// Makes the command of a step. Aliases and moments in the document are resolved.
        public var command: @Sendable (_ action: String, _ with: JSON) throws -> M.Command
        /// The code of a refusal.
        public var code: @Sendable (M.Refusal) -> String

        public init(
            key: AggregateKey, beginning: Instant, policy: M.Policy, foreign: [any EventData.Type],
            identifiers: [(type: String, member: String)],
            command: @escaping @Sendable (String, JSON) throws -> M.Command,
            code: @escaping @Sendable (M.Refusal) -> String
        ) {
            self.key = key
            self.beginning = beginning
            self.policy = policy
            self.foreign = foreign
            self.identifiers = identifiers
            self.command = command
            self.code = code
        }
    }

    public private(set) var runtime: InMemoryRuntime<M>
    private let name: String
    private let script: Script
    /// The trace's names of identifiers, by the machine's.
    private var aliases: OrderedDictionary<String, String> = [:]
    private var delivered = 0

    public init(_ name: String, _ script: Script) {
        self.name = name
        self.script = script
        runtime = InMemoryRuntime(policy: script.policy, seed: name)
    }

    /// Plays every step, and checks at the end that the state is the fold of its events.
    ///
    /// - Throws: ``TraceFailed`` for the first step that does not come out.
    public mutating func play(_ trace: Trace) throws {
        for (index, step) in trace.steps.enumerated() {
            let reasons: [String]
            do { reasons = try play(step) } catch { reasons = ["\(error)"] }
            guard reasons.isEmpty else {
                throw TraceFailed(
                    place: "\(name), step \(index + 1): \(step.action) at \(step.at) s", reasons: reasons)
            }
        }
        guard try runtime.foldCheck().isEmpty else {
            throw TraceFailed(place: name, reasons: ["the state is not the fold of its events"])
        }
    }

    private mutating func play(_ step: TraceStep) throws -> [String] {
        let moment = script.beginning + .seconds(step.at)
        let before = runtime.state(script.key).binary
        var reasons: [String] = []
        do {
            let events = try perform(step, at: moment)
            if let refused = step.refused { reasons.append("was not refused with \(refused)") }
            note(events)
            reasons += compare(events, with: step.events)
        } catch let refusal as M.Refusal {
            let code = script.code(refusal)
            if code != step.refused { reasons.append("was refused with \(code)") }
            if runtime.state(script.key).binary != before { reasons.append("the refusal changed the state") }
        }
        let state = try JSON(parsing: runtime.state(script.key).jsonBytes)
        return reasons + differences(state, step.state, "state")
    }

    private mutating func perform(_ step: TraceStep, at moment: Instant) throws -> [Event] {
        if step.action == "advance" { return try runtime.advance(to: moment) }
        let document = resolve(step.with)
        guard let data = script.foreign.first(where: { $0.type == step.action }) else {
            return try runtime.submit(script.command(step.action, document), to: script.key, at: moment)
        }
        delivered += 1
        let blank = try JSON(parsing: data.init().jsonBytes)
        let event = event(data, merge(blank, document), at: moment)
        return try runtime.deliver(event)
    }

    private func event(_ data: any EventData.Type, _ document: JSON, at moment: Instant) -> Event {
        let id = DecisionIdentifiers.derived(name, "event", String(delivered))
        return Event(
            id: id, source: String(data.type.prefix { $0 != "." }), type: data.type, version: data.version,
            key: script.key, app: document["app"]?.string, time: moment, correlation: id, causation: nil,
            traceparent: nil, data: document.bytes)
    }

    /// A document with another laid over it.
    private func merge(_ base: JSON, _ over: JSON) -> JSON {
        guard let members = base.members, let more = over.members else { return over }
        let kept = members.map { member in
            JSON.Member(member.name, over[member.name].map { merge(member.value, $0) } ?? member.value)
        }
        return .object(kept + more.filter { base[$0.name] == nil })
    }

    /// A document with the machine's identifiers for aliases, and moments for `"@seconds"`.
    private func resolve(_ json: JSON) -> JSON {
        switch json {
        case .array(let items): .array(items.map(resolve))
        case .object(let members): .object(members.map { JSON.Member($0.name, resolve($0.value)) })
        case .string(let text): .string(resolve(text))
        case .null, .bool, .int, .double: json
        }
    }

    private func resolve(_ text: String) -> String {
        if text.hasPrefix("@"), let seconds = Double(text.dropFirst()) {
            return (script.beginning + .seconds(seconds)).description
        }
        return aliases.elements.first { $0.value == text }?.key ?? text
    }

    private mutating func note(_ events: [Event]) {
        for event in events {
            for (type, member) in script.identifiers where type == event.type {
                guard let id = (try? JSON(parsing: event.data))?[member]?.string else { continue }
                aliases[id] = "\(member)-\(aliases.values.count { $0.hasPrefix(member + "-") } + 1)"
            }
        }
    }

    /// Every event must be told, in order: its type, and whichever members the trace names.
    private func compare(_ events: [Event], with expected: [JSON]) -> [String] {
        let types = events.map { String($0.type.dropFirst(M.name.count + 1)) }
        let wanted = expected.map { $0["type"]?.string ?? "" }
        guard types == wanted else { return ["events are \(events.map(told)), not \(wanted)"] }
        return zip(events, expected).flatMap { event, expected in
            var members = (expected.members ?? []).filter { $0.name != "type" }
            var reasons: [String] = []
            if let index = members.firstIndex(where: { $0.name == "occurs" }) {
                let at = JSON.double((event.time - script.beginning).seconds)
                reasons += differences(at, members.remove(at: index).value, "\(event.type) occurs")
            }
            let data = (try? JSON(parsing: event.data)) ?? .null
            return reasons + differences(data, .object(members), event.type)
        }
    }

    private func told(_ event: Event) -> String {
        let seconds = (event.time - script.beginning).seconds
        return "\(event.type) at \(seconds) \(String(decoding: event.data, as: UTF8.self))"
    }

    /// Where a value departs from the part of it that is expected. Missing members are null.
    private func differences(_ value: JSON, _ expected: JSON, _ place: String) -> [String] {
        if let members = expected.members {
            return members.flatMap { differences(value[$0.name] ?? .null, $0.value, "\(place).\($0.name)") }
        }
        if let items = expected.items {
            guard let found = value.items, found.count == items.count else {
                return ["\(place) is \(text(value)), not \(text(expected))"]
            }
            return zip(found, items).enumerated().flatMap {
                differences($1.0, $1.1, "\(place)[\($0)]")
            }
        }
        return comparable(value) == comparable(expected)
            ? [] : ["\(place) is \(text(comparable(value))), not \(text(expected))"]
    }

    /// A form to compare: aliases for identifiers, seconds for moments, one kind of number.
    private func comparable(_ value: JSON) -> JSON {
        if let number = value.double { return .double(number) }
        guard let text = value.string else { return value }
        if let alias = aliases[text] { return .string(alias) }
        if text.hasPrefix("@"), let seconds = Double(text.dropFirst()) { return .double(seconds) }
        if let moment = Instant(text) { return .double((moment - script.beginning).seconds) }
        return value
    }

    private func text(_ json: JSON) -> String { String(decoding: json.bytes, as: UTF8.self) }
}
