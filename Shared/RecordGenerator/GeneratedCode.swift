/// The generated code for the records and event families of a source file.
package struct GeneratedCode {
    package private(set) var text = ""

    package init?(_ reader: DeclarationReader, file: String) {
        let records = reader.types.filter { $0.isRecord && !$0.members.contains("visit") }
        let families = reader.types.filter {
            $0.isEnum && $0.inherited.contains("EventFamily") && !$0.members.contains("catalogue")
        }
        guard !records.isEmpty || !families.isEmpty else { return nil }
        let types = Self.names(in: records.filter(\.hasPublicInitializer).flatMap(\.properties).map(\.type))
            .subtracting(reader.types.map(\.name)).union(families.isEmpty ? [] : ["EventKind"])
        var imports = reader.imports.filter { !$0.hasSuffix("import Records") }.map { Self.narrowed($0, types) }
        if !records.isEmpty {
            imports.append((records.contains(where: \.isPublic) ? "public " : "") + "import Records")
        }
        text = "// Generated from \(file).\n\n" + imports.joined(separator: "\n") + "\n"
        for record in records { addRecord(record) }
        for family in families { addFamily(family) }
    }

    private static func names(in types: [String]) -> Set<String> {
        Set(types.flatMap { $0.split { !$0.isLetter && !$0.isNumber && $0 != "." } }.map(String.init))
    }

    /// Returns the import without `public` if no public field needs the module, because the compiler would warn.
    private static func narrowed(_ line: String, _ types: Set<String>) -> String {
        guard line.hasPrefix("public ") else { return line }
        let time: Set = ["Instant", "Interval"]
        let known: Set = [
            "Bool", "Defaulted", "Double", "Flattened", "Int", "JSON", "Nullable", "OrderedDictionary", "String",
        ]
        let isNeeded =
            switch line.split(separator: " ").last {
            case "Contracts": !types.subtracting(time).subtracting(known).isEmpty
            case "Timeline": !types.isDisjoint(with: time)
            case "OrderedCollections": types.contains("OrderedDictionary")
            default: false
            }
        return isNeeded ? line : String(line.dropFirst("public ".count))
    }

    private mutating func addRecord(_ record: TypeDeclaration) {
        let access = record.isPublic ? "public " : ""
        let needed = record.properties.filter { $0.defaultValue == nil }.map { "\($0.name): .placeholder" }
        text += """

            extension \(record.name) {
            \(initializer(record))\
            \(record.needsSummary ? "    public static var summary: String { \(Self.literal(record.summary)) }\n" : "")\
                \(access)static var placeholder: Self { Self(\(needed.joined(separator: ", "))) }
                \(access)mutating func visit<V: FieldVisitor>(_ fields: inout V) {
            \(lines(record.properties) { "        " + Self.visit($0, record) })
                }
            }

            """
    }

    /// Returns the memberwise initializer, which other modules can call too. Its last parameter distinguishes it from
    /// the internal initializer of the compiler.
    private func initializer(_ record: TypeDeclaration) -> String {
        let properties = record.properties
        let access = record.hasPublicInitializer ? "public " : ""
        let parameters = properties.map { "\($0.name): \($0.type)" + ($0.defaultValue.map { " = \($0)" } ?? "") }
        return """
                \(access)init(\((parameters + ["_: Void = ()"]).joined(separator: ", "))) {
            \(lines(properties) { "        self.\($0.name) = \($0.name)" })
                }

            """
    }

    private func lines(_ properties: [StoredProperty], _ line: (StoredProperty) -> String) -> String {
        properties.map(line).joined(separator: "\n")
    }

    private static func visit(_ property: StoredProperty, _ record: TypeDeclaration) -> String {
        let name = property.name
        let constraint = record.constraints.contains(name) ? ", Constraints.\(name)" : ""
        return switch property.form {
        case .required, .nullable: "fields.field(\"\(name)\", &\(name)\(constraint))"
        case .optional: "fields.optional(\"\(name)\", &\(name)\(constraint))"
        case .defaulted: "fields.defaulted(\"\(name)\", &\(name)\(constraint))"
        case .flattened: "\(name).visit(&fields)"
        }
    }

    private mutating func addFamily(_ family: TypeDeclaration) {
        let kinds = family.cases.map { "        EventKind(\(family.name).\($0))," }.joined(separator: "\n")
        let data = family.cases.map { "        case .\($0)(let data): data" }.joined(separator: "\n")
        text += """

            extension \(family.name) {
                public static let catalogue: [EventKind<\(family.name)>] = [
            \(kinds)
                ]
                public var data: any EventData {
                    switch self {
            \(data)
                    }
                }
            }

            """
    }

    private static func literal(_ text: String) -> String {
        "\"" + text.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"") + "\""
    }
}

extension StoredProperty {
    /// The default argument in the initializer: the initial value, or nil for an optional.
    ///
    /// The initializer `Type()` of the compiler is internal, so a public initializer can't use it as a default argument.
    /// The placeholder is an equal value.
    var defaultValue: String? {
        initial.map { $0.first?.isUppercase == true && $0.hasSuffix("()") ? $0.dropLast(2) + ".placeholder" : $0 }
            ?? (form == .optional ? "nil" : nil)
    }
}

extension TypeDeclaration {
    fileprivate var hasPublicInitializer: Bool { isPublic && properties.allSatisfy(\.isPublic) }

    /// Whether the documentation comment of the type is its line in the event catalogue.
    fileprivate var needsSummary: Bool {
        inherited.contains { $0.hasSuffix("EventData") } && !members.contains("summary")
    }
}
