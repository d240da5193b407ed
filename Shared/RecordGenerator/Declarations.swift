/// A stored property of a record.
struct StoredProperty: Equatable {
    /// The form of the field in JSON. `Records` has type aliases with these names.
    enum Form: Equatable { case required, optional, nullable, defaulted, flattened }

    var name: String
    var type: String
    var initial: String?
    var isPublic: Bool

    var form: Form {
        for (prefix, form) in [("Nullable<", Form.nullable), ("Defaulted<", .defaulted), ("Flattened<", .flattened)]
        where type.hasPrefix(prefix) { return form }
        return type.hasSuffix("?") ? .optional : .required
    }
}

extension StoredProperty {
    /// Adds the prefix `outer` to names of its nested types in the type and in the initial value.
    fileprivate mutating func qualify(_ outer: Substring, _ declared: Set<String>) {
        type = Self.qualified(type, outer, declared)
        initial = initial.map { Self.qualified($0, outer, declared) }
    }

    private static func qualified(_ text: String, _ outer: Substring, _ declared: Set<String>) -> String {
        var result = ""
        var rest = text[...]
        while !rest.isEmpty {
            let name = rest.prefix { $0.isLetter || $0.isNumber || $0 == "_" || $0 == "." }
            let head = name.prefix { $0 != "." }
            result += declared.contains("\(outer).\(head)") ? "\(outer).\(name)" : name
            rest = rest.dropFirst(name.count)
            result += rest.prefix(1)
            rest = rest.dropFirst()
        }
        return result
    }
}

/// A structure or enumeration of a source file.
struct TypeDeclaration: Equatable {
    /// The name, with the names of the enclosing types.
    var name: String
    var isPublic: Bool
    var isEnum: Bool
    /// The first sentence of its documentation comment.
    var summary: String
    /// The names after the colon.
    var inherited: [String]
    var properties: [StoredProperty] = []
    /// The names of its functions and its type properties.
    var members: [String] = []
    /// The cases of an enumeration with an associated value.
    var cases: [String] = []
    /// The names in its nested enumeration `Constraints`.
    var constraints: [String] = []
    var line: Int
}

/// A declaration that the generator can't read.
package struct UnreadableDeclaration: Error, Equatable {
    package let line: Int
    package let reason: String
}

/// Reads the type declarations of a source file. It supports the subset of Swift that declarations of records use.
package struct DeclarationReader {
    private let source: SourceText
    private(set) var types: [TypeDeclaration] = []
    private(set) var imports: [String] = []

    /// - Throws: ``UnreadableDeclaration`` if a record's property has neither a type nor a value that shows its type.
    package init(_ text: String) throws(UnreadableDeclaration) {
        source = SourceText(text)
        _ = try body(0..<source.code.count, in: nil)
        qualifyTypes()
    }

    /// Reads the declarations between two braces. Returns the enclosing type with its members.
    private mutating func body(
        _ range: Range<Int>, in outer: TypeDeclaration?
    ) throws(UnreadableDeclaration) -> TypeDeclaration? {
        var type = outer
        var cursor = Cursor(source, range)
        while let start = cursor.skipSpace() {
            let modifiers = cursor.modifiers()
            let keyword = cursor.word()
            switch keyword {
            case "import": imports.append(source.string(start..<cursor.skipLine()))
            case "struct", "enum", "extension", "class", "actor", "protocol":
                try nested(keyword, &cursor, start, modifiers, &type)
            case "var", "let":
                if let property = try property(&cursor, modifiers, isRecord: type?.isRecord ?? false) {
                    if modifiers.contains("static") {
                        type?.members.append(property.name)
                    } else {
                        type?.properties.append(property)
                    }
                }
            case "func":
                type?.members.append(cursor.word())
                cursor.skipDeclaration()
            case "case":
                if let name = cursor.associatedCase() { type?.cases.append(name) }
            default: cursor.skipDeclaration()
            }
        }
        return type
    }

    private mutating func nested(
        _ kind: String, _ cursor: inout Cursor, _ start: Int, _ modifiers: Set<String>, _ outer: inout TypeDeclaration?
    ) throws(UnreadableDeclaration) {
        let name = cursor.typeName()
        let clause = cursor.untilBrace()
        guard let inner = cursor.braces() else { return }
        let isNamed = kind == "struct" || kind == "enum"
        var type = TypeDeclaration(
            name: (outer.map { $0.name + "." } ?? "") + name, isPublic: modifiers.contains("public"),
            isEnum: kind == "enum",
            summary: summary(before: start), inherited: Self.inherited(clause), line: line(start))
        type = try body(inner, in: type) ?? type
        if name == "Constraints" { outer?.constraints = type.members }
        if isNamed, kind != "extension" { types.append(type) }
    }

    /// Adds the names of the enclosing types to the names of nested types, because the generated extensions are at file
    /// level.
    private mutating func qualifyTypes() {
        let declared = Set(types.map(\.name))
        for index in types.indices {
            var outer = types[index].name[...]
            while let dot = outer.lastIndex(of: ".") {
                outer = outer[..<dot]
                for property in types[index].properties.indices {
                    types[index].properties[property].qualify(outer, declared)
                }
            }
        }
    }

    /// The types after the colon, without a `where` clause.
    private static func inherited(_ clause: String) -> [String] {
        guard let colon = clause.firstIndex(of: ":") else { return [] }
        let list = clause[clause.index(after: colon)...].split(separator: " where ", maxSplits: 1).first ?? ""
        return list.split(separator: ",").map { $0.filter { !$0.isWhitespace } }
    }

    /// Reads `name: Type = value`; nil for a computed property.
    private func property(
        _ cursor: inout Cursor, _ modifiers: Set<String>, isRecord: Bool
    ) throws(UnreadableDeclaration) -> StoredProperty? {
        let start = cursor.offset
        let name = cursor.word()
        let type = cursor.take(":", until: ["=", "{", "\n"])
        let initial = cursor.take("=", until: ["{", "\n"])
        let hasBody = cursor.braces() != nil
        cursor.skipLine()
        if modifiers.contains("static") { return StoredProperty(name: name, type: "", initial: nil, isPublic: false) }
        if hasBody && initial == nil { return nil }
        guard isRecord else { return nil }
        guard let type = type ?? initial.flatMap(Self.literalType) else {
            throw UnreadableDeclaration(line: line(start), reason: "the property '\(name)' needs a type annotation")
        }
        return StoredProperty(name: name, type: type, initial: initial, isPublic: modifiers.contains("public"))
    }

    /// The type of an initial value that shows it: a literal, `Type(…)` or `Type.member`.
    static func literalType(_ value: String) -> String? {
        if value == "true" || value == "false" { return "Bool" }
        if value.first == "\"" { return "String" }
        if !value.isEmpty, value.allSatisfy({ $0.isNumber || "_-.".contains($0) }) {
            return value.contains(".") ? "Double" : "Int"
        }
        let name = value.prefix { $0.isLetter || $0.isNumber || $0 == "." }
        let parts = name.split(separator: ".").prefix { $0.first?.isUppercase ?? false }
        return parts.isEmpty || parts.first == "Self" ? nil : parts.joined(separator: ".")
    }

    private func line(_ offset: Int) -> Int { source.text[..<offset].count { $0 == 0x0A } + 1 }

    /// The first sentence of the documentation comment that ends before a declaration.
    private func summary(before start: Int) -> String {
        var lines: [String] = []
        for line in source.string(0..<start).split(separator: "\n", omittingEmptySubsequences: false).reversed()
            .dropFirst()
        {
            let text = line.drop { $0 == " " }
            guard text.hasPrefix("///") else { break }
            lines.append(text.dropFirst(3).trimmingPrefix(" ").description)
        }
        let comment = lines.reversed().joined(separator: " ")
        guard let end = comment.firstRange(of: ". ") else { return comment }
        return String(comment[..<end.lowerBound]) + "."
    }
}

extension TypeDeclaration {
    /// Whether the generator writes the code of the type.
    var isRecord: Bool {
        !isEnum && inherited.contains { ["Record", "EventData", "TransferTaskEventData", "Machine"].contains($0) }
    }
}
