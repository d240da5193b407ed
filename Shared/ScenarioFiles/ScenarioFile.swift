public import Records
public import Scenarios
import Yams

/// Reads scenario files: YAML, of which JSON is a part.
public enum ScenarioFile {
    /// The largest file, in bytes.
    public static let largest = 262_144
    /// The most nodes of a file.
    public static let mostNodes = 20_000
    /// The deepest nesting of a file.
    public static let deepest = 32
    /// The most `&` and `*` before a name, which the reader takes for anchors. It refuses anchors, but they must not
    /// multiply before it sees them.
    private static let mostAnchors = 8

    /// Reads a scenario.
    ///
    /// - Parameters:
    ///   - change: changes the scenario after it was read, for example by options.
    ///   - faults: returns what else the changed scenario must not have.
    /// - Throws: all faults of the file. A file that is not YAML has one fault: the place of its first syntax error.
    public static func read(
        _ bytes: some Collection<UInt8>, changing change: (inout Scenario) -> Void = { _ in },
        refusing faults: (Scenario) -> [FieldError] = { _ in [] }
    ) throws(ScenarioFaults) -> Scenario {
        try ScenarioReader.read(try document(bytes), changing: change, refusing: faults)
    }

    /// Reads the nodes of a file, and checks its size and nesting.
    static func document(_ bytes: some Collection<UInt8>) throws(ScenarioFaults) -> SourceNode {
        guard bytes.count <= largest else { throw fault("must have at most \(largest) bytes, not \(bytes.count)") }
        guard let text = String(validating: bytes, as: UTF8.self) else { throw fault("must be UTF-8") }
        guard !text.utf8.contains(0) else { throw fault("must not contain U+0000") }
        guard anchors(in: bytes) <= mostAnchors else { throw fault("must not use anchors (&) and aliases (*)") }
        do {
            // The nodes hold their anchors weakly, and the parser holds them strongly.
            let parser = try Parser(yaml: text, encoding: .utf8)
            return try withExtendedLifetime(parser) {
                guard let root = try parser.singleRoot() else { throw fault("must not be empty") }
                var converter = NodeConverter()
                let node = converter.node(root, depth: 0)
                guard converter.faults.isEmpty else { throw ScenarioFaults(converter.faults) }
                return node
            }
        } catch let faults as ScenarioFaults {
            throw faults
        } catch let error as YamlError {
            throw fault(of: error)
        } catch {
            throw fault("must be YAML")
        }
    }

    private static func fault(_ detail: String, at position: SourcePosition = SourcePosition(line: 1, column: 1))
        -> ScenarioFaults
    {
        ScenarioFaults([ScenarioFault(position: position, path: "", detail: detail)])
    }

    private static func fault(of error: YamlError) -> ScenarioFaults {
        switch error {
        case .scanner(_, let problem, let mark, _), .parser(_, let problem, let mark, _),
            .composer(_, let problem, let mark, _):
            return fault("must be YAML: \(problem)", at: SourcePosition(line: mark.line, column: mark.column))
        case .duplicatedKeysInMapping(let names, let context):
            let position = SourcePosition(line: context.mark.line, column: context.mark.column)
            return fault("must have each member once: \(names.joined(separator: ", "))", at: position)
        case .reader(let problem, _, _, _): return fault("must be YAML: \(problem)")
        case .no, .memory, .writer, .emitter, .representer, .dataCouldNotBeDecoded: return fault("must be YAML")
        }
    }

    /// Counts `&` and `*` that precede a name.
    private static func anchors(in bytes: some Collection<UInt8>) -> Int {
        zip(bytes, bytes.dropFirst()).count { byte, next in
            (byte == UInt8(ascii: "&") || byte == UInt8(ascii: "*")) && next > 0x20
        }
    }
}

/// Converts the nodes of a YAML document within the limits.
private struct NodeConverter {
    var faults: [ScenarioFault] = []
    private var count = 0

    mutating func node(_ node: Node, depth: Int) -> SourceNode {
        count += 1
        let position =
            node.mark.map { SourcePosition(line: $0.line, column: $0.column) }
            ?? SourcePosition(line: 1, column: 1)
        let empty = SourceNode(.scalar("", isPlain: true), at: position)
        guard count <= ScenarioFile.mostNodes, depth <= ScenarioFile.deepest else {
            let limit =
                depth > ScenarioFile.deepest
                ? "nest at most \(ScenarioFile.deepest) levels" : "have at most \(ScenarioFile.mostNodes) nodes"
            if faults.isEmpty { refuse("must \(limit)", position) }
            return empty
        }
        switch node {
        case .scalar(let scalar):
            if scalar.anchor != nil { refuse("must not use anchors (&) and aliases (*)", position) }
            return SourceNode(.scalar(scalar.string, isPlain: scalar.style == .plain), at: position)
        case .sequence(let sequence):
            guard sequence.anchor == nil else { break }
            return SourceNode(.sequence(sequence.map { self.node($0, depth: depth + 1) }), at: position)
        case .mapping(let mapping):
            guard mapping.anchor == nil else { break }
            let members = mapping.map { key, value in
                if key.scalar == nil || key.scalar?.anchor != nil {
                    refuse("must have strings without anchors as names of members", position)
                }
                return SourceNode.Member(
                    name: key.scalar?.string ?? "",
                    position: key.mark.map { SourcePosition(line: $0.line, column: $0.column) } ?? position,
                    value: self.node(value, depth: depth + 1))
            }
            return SourceNode(.mapping(members), at: position)
        case .alias: break
        }
        refuse("must not use anchors (&) and aliases (*)", position)
        return empty
    }

    private mutating func refuse(_ detail: String, _ position: SourcePosition) {
        faults.append(ScenarioFault(position: position, path: "", detail: detail))
    }
}
