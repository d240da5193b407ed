public import Contracts
import OrderedCollections
public import Records
public import Timeline

/// Translates the aliases and times of a trace, and compares results with the trace.
public struct TraceWords: Sendable {
    private let beginning: Instant
    private let identifiers: [(type: String, member: String)]
    /// The aliases of the machine's identifiers.
    private var aliases: OrderedDictionary<String, String> = [:]

    public init(beginning: Instant, identifiers: [(type: String, member: String)]) {
        self.beginning = beginning
        self.identifiers = identifiers
    }

    /// Assigns aliases to the identifiers in new events.
    public mutating func note(_ events: [Event]) {
        for event in events {
            for (type, member) in identifiers where type == event.type {
                guard let id = (try? JSON(parsing: event.data))?[member]?.string else { continue }
                aliases[id] = "\(member)-\(aliases.values.count { $0.hasPrefix(member + "-") } + 1)"
            }
        }
    }

    /// Returns a document with identifiers in place of aliases, and times in place of `"@seconds"`.
    public func resolve(_ json: JSON) -> JSON {
        switch json {
        case .array(let items): .array(items.map(resolve))
        case .object(let members): .object(members.map { JSON.Member($0.name, resolve($0.value)) })
        case .string(let text): .string(resolve(text))
        case .null, .bool, .int, .double: json
        }
    }

    private func resolve(_ text: String) -> String {
        if text.hasPrefix("@"), let seconds = Double(text.dropFirst()) {
            return (beginning + .seconds(seconds)).description
        }
        return aliases.elements.first { $0.value == text }?.key ?? text
    }

    /// Compares all events in order: their types, and the members that the trace names.
    public func differences(_ events: [Event], _ expected: [JSON]) -> [String] {
        let types = events.map { String($0.type.drop { $0 != "." }.dropFirst()) }
        let wanted = expected.map { $0.string ?? $0["type"]?.string ?? "" }
        guard types == wanted else { return ["events are \(events.map(told)), not \(wanted)"] }
        return zip(events, expected).flatMap { event, expected in
            let data = (try? JSON(parsing: event.data)) ?? .null
            return (expected.members ?? []).filter { $0.name != "type" }.flatMap { member in
                let isMoment = member.name == "occurs" || member.name == "at" && member.value.double != nil
                let value = isMoment ? JSON.double((event.time - beginning).seconds) : data[member.name] ?? .null
                return differences(value, member.value, "\(event.type).\(member.name)")
            }
        }
    }

    private func told(_ event: Event) -> String {
        let seconds = (event.time - beginning).seconds
        return "\(event.type) at \(seconds) \(String(decoding: event.data, as: UTF8.self))"
    }

    /// Returns the differences between a value and the expected part of it. Missing members are null.
    public func differences(_ value: JSON, _ expected: JSON, _ place: String) -> [String] {
        if let members = expected.members, !members.isEmpty {
            return members.flatMap { differences(value[$0.name] ?? .null, $0.value, "\(place).\($0.name)") }
        }
        if let items = expected.items, let found = value.items, found.count == items.count {
            return zip(found, items).enumerated().flatMap { differences($1.0, $1.1, "\(place)[\($0)]") }
        }
        return comparable(value) == comparable(expected)
            ? [] : ["\(place) is \(text(comparable(value))), not \(text(expected))"]
    }

    /// Returns a comparable form: aliases for identifiers, seconds for times, one kind of number.
    private func comparable(_ value: JSON) -> JSON {
        if let number = value.double { return .double(number) }
        guard let text = value.string else { return value }
        if let alias = aliases[text] { return .string(alias) }
        if text.hasPrefix("@"), let seconds = Double(text.dropFirst()) { return .double(seconds) }
        if let moment = Instant(text) { return .double((moment - beginning).seconds) }
        return value
    }

    private func text(_ json: JSON) -> String { String(decoding: json.bytes, as: UTF8.self) }
}
