import OrderedCollections
import Records
import Testing

enum Shade: String, WireEnum { case light, dark }

struct Inner: Record, Equatable {
    var flag = false
    var level: Defaulted<Double> = 0.5

    enum Constraints {
        static let level: Constraint<Double> = .range(0...1)
    }
}

struct Outer: Record, Equatable {
    var name = ""
    var count = 0
    var shade = Shade.light
    var note: Nullable<String> = nil
    var cause: String?
    var inner = Inner()
    var list: Defaulted<[Int]> = []
    var map: Defaulted<OrderedDictionary<String, Inner>> = [:]

    enum Constraints {
        static let name: Constraint<String> = .identifier
        static let count: Constraint<Int> = .range(-5...5)
        static let list: Constraint<[Int]> = .count(0...3)
    }
}

@Suite struct RecordTests {
    private let full = Outer(
        name: "a-1", count: -3, shade: .dark, note: "n", cause: "c", inner: Inner(flag: true, level: 0.25),
        list: [1, 2],
        map: ["z": Inner(), "a": Inner(flag: true, level: 1)])

    @Test func `the binary form survives a round trip`() {
        #expect(Outer(binary: full.binary) == full)
        #expect(Outer(binary: Outer().binary) == Outer())
    }

    @Test func `a truncated or extended binary form is malformed`() {
        let bytes = full.binary
        for length in 0..<bytes.count { #expect(Outer(binary: Array(bytes.prefix(length))) == nil) }
        #expect(Outer(binary: bytes + [0]) == nil)
    }

    @Test func `a corrupt binary form never traps`() {
        for index in full.binary.indices {
            for value in [UInt8(0), 1, 0x7F, 0x80, 0xFF] {
                var bytes = full.binary
                bytes[index] = value
                _ = Outer(binary: bytes)
            }
        }
    }

    @Test func `the JSON form survives a round trip`() throws {
        #expect(try Outer(jsonBytes: full.jsonBytes).jsonBytes == full.jsonBytes)
    }

    @Test func `a map has the order of its names, whatever order its document has`() throws {
        let received = try Outer(jsonBytes: full.jsonBytes)
        let text =
            #"{"name":"a-1","map":{"z":{"flag":false},"a":{"flag":true,"level":1}},"count":-3,"shade":"dark","note":"n","#
            + #""cause":"c","inner":{"flag":true,"level":0.25},"list":[1,2]}"#
        #expect(try Outer(jsonBytes: Array(text.utf8)).binary == received.binary)
        #expect(Array(received.map.keys) == ["a", "z"])
    }

    @Test func `absent optional members are null or omitted`() {
        let text = String(decoding: Outer(name: "x").jsonBytes, as: UTF8.self)
        #expect(text.contains(#""note":null"#))
        #expect(!text.contains("cause"))
    }

    @Test func `every fault has its JSON pointer`() {
        let text = #"{"name":"a b","count":9,"shade":"grey","inner":{"level":2,"x~/y":1},"list":[1,"2"],"more":0}"#
        let expected: Set = [
            "/name", "/count", "/shade", "/inner/flag", "/inner/level", "/inner/x~0~1y", "/list/1", "/more",
        ]
        #expect(throws: DocumentError.self) { try Outer(jsonBytes: Array(text.utf8)) }
        do { _ = try Outer(jsonBytes: Array(text.utf8)) } catch {
            #expect(Set(error.faults.map(\.pointer)) == expected)
        }
    }

    @Test func `lenient reading ignores only unknown members`() throws {
        let text = Array(#"{"flag":true,"later":1}"#.utf8)
        #expect(try Inner(jsonBytes: text, lenient: true).flag)
        #expect(throws: DocumentError.self) { try Inner(jsonBytes: text) }
        #expect(throws: DocumentError.self) { try Inner(jsonBytes: Array(#"{"flag":1}"#.utf8), lenient: true) }
    }

    @Test func `the schema lists required members, ranges and defaults`() {
        let schema = Outer.schema
        #expect(schema["required"] == ["name", "count", "shade", "inner"])
        #expect(schema["properties"]?["count"]?["maximum"] == 5)
        #expect(schema["properties"]?["note"]?["type"] == ["string", "null"])
        #expect(schema["properties"]?["inner"]?["properties"]?["level"]?["default"] == .double(0.5))
    }
}
