public import Records

/// A fault of a scenario file.
public struct ScenarioFault: Error, Sendable, Equatable, CustomStringConvertible {
    public let position: SourcePosition
    /// JSON pointer (RFC 6901) into the document; empty for the whole file.
    public let path: String
    /// The fault in words: it begins with "must" or "is".
    public let detail: String
    /// The text of the file there; nil if it has none.
    public let found: String?

    public init(position: SourcePosition, path: String, detail: String, found: String? = nil) {
        self.position = position
        self.path = path
        self.detail = detail
        self.found = found
    }

    /// `LINE:COLUMN: PATH DETAIL, found FOUND`.
    public var description: String {
        "\(position.line):\(position.column): " + (path.isEmpty ? "the file" : path) + " \(detail)"
            + (found.map { ", found \($0)" } ?? "")
    }
}

/// All faults of a scenario file, in the order of their positions.
public struct ScenarioFaults: Error, Sendable, Equatable, CustomStringConvertible {
    public let faults: [ScenarioFault]

    public init(_ faults: [ScenarioFault]) { self.faults = faults }

    public var description: String { faults.map(\.description).joined(separator: "\n") }
}

/// Reads a scenario from the nodes of a file, and finds all its faults at once.
public enum ScenarioReader {
    /// The JSON schema (draft 2020-12) of scenario files.
    public static var schema: JSON {
        var members: [JSON.Member] = [
            .init("$schema", "https://json-schema.org/draft/2020-12/schema"), .init("title", "Scenario"),
        ]
        members += Scenario.schema.members ?? []
        return .object(members)
    }

    /// Reads a scenario.
    ///
    /// - Parameters:
    ///   - change: changes the scenario after it was read, for example by options.
    ///   - faults: returns what else the changed scenario must not have.
    /// - Throws: all faults of the form; if there is none, all contradictions between members; if there is none, those
    ///   of the changed scenario.
    public static func read(
        _ root: SourceNode, changing change: (inout Scenario) -> Void = { _ in },
        refusing faults: (Scenario) -> [FieldError] = { _ in [] }
    ) throws(ScenarioFaults) -> Scenario {
        var scenario: Scenario
        do { scenario = try Scenario(json: root.json) } catch { throw located(error.faults, in: root) }
        for isChanged in [false, true] {
            if isChanged { change(&scenario) }
            let found = scenario.contradictions + (isChanged ? faults(scenario) : [])
            guard found.isEmpty else { throw located(found, in: root) }
        }
        return scenario
    }

    private static func located(_ faults: [FieldError], in root: SourceNode) -> ScenarioFaults {
        let located = faults.map { Self.located($0, in: root) }
        return ScenarioFaults(
            located.enumerated().sorted { ($0.element.position, $0.offset) < ($1.element.position, $1.offset) }
                .map(\.element))
    }

    private static func located(_ fault: FieldError, in root: SourceNode) -> ScenarioFault {
        let steps = fault.pointer.split(separator: "/", omittingEmptySubsequences: false).dropFirst().map { step in
            String(step).replacing("~1", with: "/").replacing("~0", with: "~")
        }
        var node = root
        var position = root.position
        for (index, step) in steps.enumerated() {
            switch node.content {
            case .mapping(let members):
                guard let member = members.first(where: { $0.name == step }) else {
                    return ScenarioFault(position: position, path: fault.pointer, detail: fault.detail)
                }
                node = member.value
                let isUnknown = fault.detail == "is not a known member" && index == steps.count - 1
                position = isUnknown ? member.position : node.position
                if isUnknown {
                    let known = MemberNames.known(at: Array(steps.dropLast()), in: schema)
                    return ScenarioFault(
                        position: position, path: fault.pointer,
                        detail: fault.detail + MemberNames.hint(for: step, known))
                }
            case .sequence(let items):
                guard let number = Int(step), items.indices.contains(number) else { break }
                node = items[number]
                position = node.position
            case .scalar:
                return ScenarioFault(position: position, path: fault.pointer, detail: fault.detail)
            }
        }
        return ScenarioFault(
            position: position, path: fault.pointer, detail: fault.detail, found: node.summary)
    }
}
