import Testing

@testable import RecordGeneration

/// The generator reads the declarations of records, and writes the code beside them.
@Suite("Record generator") struct RecordGeneratorTests {
    private func generated(_ source: String) throws -> String {
        let reader = try DeclarationReader(source)
        return GeneratedCode(reader, file: "A.swift")?.text ?? ""
    }

    @Test func `the fields of a record are its stored properties in order`() throws {
        let text = try generated(
            """
            struct A: Record {
                static let kind = "a"
                /// A name with a brace: {.
                var name: String
                var count = 3
                var double: Int { count * 2 }
                func triple() -> Int { count * 3 }
                var rest: [Int] = [1, 2]
            }
            """)
        let fields = text.split(separator: "\n").filter { $0.contains("fields.") }.map {
            $0.trimmingPrefix { $0 == " " }
        }
        #expect(
            fields.map(String.init) == [
                "fields.field(\"name\", &name)", "fields.field(\"count\", &count)", "fields.field(\"rest\", &rest)",
            ])
        #expect(text.contains("init(name: String, count: Int = 3, rest: [Int] = [1, 2], _: Void = ())"))
        #expect(text.contains("static var placeholder: Self { Self(name: .placeholder) }"))
    }

    @Test func `the type of a property says how JSON has it`() throws {
        let text = try generated(
            """
            struct A: Record {
                var optional: Int?
                var nullable: Nullable<Int>
                var defaulted: Defaulted<Bool> = false
                var flattened: Flattened<B>

                enum Constraints {
                    static let optional: Rule<Int> = .range(0...9)
                }
            }
            """)
        #expect(text.contains("fields.optional(\"optional\", &optional, Constraints.optional)"))
        #expect(text.contains("fields.field(\"nullable\", &nullable)"))
        #expect(text.contains("fields.defaulted(\"defaulted\", &defaulted)"))
        #expect(text.contains("flattened.visit(&fields)"))
    }

    @Test func `a record with its own visit is left alone`() throws {
        #expect(
            try generated(
                "struct A: Record { var a = 1\n    mutating func visit<V: FieldVisitor>(_ fields: inout V) {} }") == "")
    }

    @Test func `a public record has a public initializer if all of its properties are public`() throws {
        #expect(
            try generated("public struct A: Record {\n    public var a = 1\n}").contains("    public init(a: Int = 1"))
        #expect(try generated("public struct A: Record {\n    var a = 1\n}").contains("    init(a: Int = 1"))
    }

    @Test func `nested types are named with the types around them`() throws {
        let text = try generated(
            """
            extension Family {
                /// Something happened. It may happen again.
                public struct Happened: EventData {
                    public var kind: Kind
                    public var kinds: [Happened.Kind] = []
                    public enum Kind: String { case one }
                }
            }
            """)
        #expect(text.contains("extension Family.Happened {"))
        #expect(text.contains("public init(kind: Kind, kinds: [Family.Happened.Kind] = []"))
        #expect(text.contains("public static var summary: String { \"Something happened.\" }"))
    }

    @Test func `the catalogue of a family has its cases`() throws {
        let text = try generated(
            "public enum Family: EventFamily {\n    case one(One)\n    case two(Two)\n    public static let source = \"f\"\n}"
        )
        #expect(text.contains("EventKind(Family.one),\n        EventKind(Family.two),"))
        #expect(text.contains("case .two(let data): data"))
    }

    @Test func `comments and string literals are not code`() throws {
        let text = try generated(
            """
            /* struct B: Record { var b = 1 } /* nested */ */
            let text = "struct C: Record { \\(["}"].count) var c = 1 }"
            let raw = #"a "quoted" brace {"#
            struct A: Record {
                // var d = 1
                var a = "}" // a comment
            }
            """)
        #expect(text.contains("extension A {"))
        #expect(!text.contains("extension B") && !text.contains("extension C"))
        #expect(text.contains("init(a: String = \"}\", _: Void = ())"))
    }

    @Test func `a property without a visible type is reported with its line`() {
        #expect(throws: UnreadableDeclaration(line: 2, reason: "the property 'a' needs a type annotation")) {
            try DeclarationReader("struct A: Record {\n    var a = make()\n}")
        }
    }
}
