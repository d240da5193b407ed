public import Records

/// A node of a scenario file with its position.
public struct SourceNode: Sendable, Equatable {
    /// The content of a node.
    public indirect enum Content: Sendable, Equatable {
        /// A scalar. A plain one may be null, a boolean or a number; a quoted one is a string.
        case scalar(String, isPlain: Bool)
        case sequence([SourceNode])
        case mapping([Member])
    }

    /// A member of a mapping.
    public struct Member: Sendable, Equatable {
        public let name: String
        public let position: SourcePosition
        public let value: SourceNode

        public init(name: String, position: SourcePosition, value: SourceNode) {
            self.name = name
            self.position = position
            self.value = value
        }
    }

    public let content: Content
    public let position: SourcePosition

    public init(_ content: Content, at position: SourcePosition) {
        self.content = content
        self.position = position
    }

    /// The JSON value. Plain scalars have the types of YAML 1.2's core schema, so that `yes` and `07:30` are strings.
    public var json: JSON {
        switch content {
        case .scalar(let text, let isPlain): isPlain ? Self.plain(text) : .string(text)
        case .sequence(let items): .array(items.map(\.json))
        case .mapping(let members): .object(members.map { JSON.Member($0.name, $0.value.json) })
        }
    }

    private static func plain(_ text: String) -> JSON {
        switch text {
        case "", "~", "null", "Null", "NULL": return .null
        case "true", "True", "TRUE": return .bool(true)
        case "false", "False", "FALSE": return .bool(false)
        default: break
        }
        guard text.utf8.allSatisfy({ (0x30...0x39).contains($0) || "+-.eE".utf8.contains($0) }) else {
            return .string(text)
        }
        if let number = Int(text) { return .int(number) }
        if let number = Double(text), number.isFinite { return .double(number) }
        return .string(text)
    }

    /// The kind or the text of the node, for messages.
    var summary: String {
        switch content {
        case .scalar(let text, let isPlain):
            if isPlain, Self.plain(text) == .null { return "nothing" }
            let part = text.unicodeScalars.prefix(40).map { $0.value < 0x20 || $0.value == 0x7F ? " " : String($0) }
            return "\"" + part.joined() + (text.unicodeScalars.count > 40 ? "…\"" : "\"")
        case .sequence: return "an array"
        case .mapping: return "an object"
        }
    }
}

/// A position in a file. Lines and columns count from 1, columns in Unicode scalars.
public struct SourcePosition: Sendable, Hashable, Comparable {
    public let line: Int
    public let column: Int

    public init(line: Int, column: Int) {
        self.line = line
        self.column = column
    }

    public static func < (one: Self, other: Self) -> Bool { (one.line, one.column) < (other.line, other.column) }
}
