import Records
import Testing

@Suite struct JSONTests {
    @Test(
        arguments: [
            ("null", JSON.null), (" true ", true), ("-12", -12), ("1.5e2", 150.0),
            (#""a\u00e9\ud83d\ude00\n""#, "aé😀\n"),
            (#"[1,[],{"b":2,"a":null}]"#, [1, [], ["b": 2, "a": .null]]), ("9223372036854775807", .int(.max)),
            ("9223372036854775808", .double(9223372036854775808)),
        ] as [(String, JSON)])
    func `valid JSON is parsed`(text: String, expected: JSON) throws {
        #expect(try JSON(parsing: Array(text.utf8)) == expected)
    }

    @Test(arguments: [
        "", "nul", "01", "1.", "-", "+1", ".5", "1e", "[1,]", "[1 2]", "{", #"{"a":1,}"#, #"{"a":1,"a":2}"#, #"{a:1}"#,
        #""\ud800""#, #""\ud800\u0041""#, #""\x""#, "\"\u{1}\"", "\"open", "1 1", "\u{FEFF}1", "1e999", "NaN", "'a'",
    ])
    func `invalid JSON is refused`(text: String) {
        #expect(throws: JSONSyntaxError.self) { try JSON(parsing: Array(text.utf8)) }
    }

    @Test func `bytes that are not UTF-8 are refused`() {
        #expect(throws: JSONSyntaxError.self) { try JSON(parsing: [0x22, 0xFF, 0x22]) }
        #expect(throws: JSONSyntaxError.self) { try JSON(parsing: [0x22, 0xC0, 0x80, 0x22]) }
    }

    @Test func `nesting is limited to 64 levels`() throws {
        func nested(_ depth: Int) -> [UInt8] {
            Array(repeating: 0x5B, count: depth) + Array(repeating: 0x5D, count: depth)
        }
        _ = try JSON(parsing: nested(64))
        #expect(throws: JSONSyntaxError.self) { try JSON(parsing: nested(65)) }
        #expect(throws: JSONSyntaxError.self) { try JSON(parsing: Array(repeating: 0x5B, count: 1_000_000)) }
    }

    @Test func `members are written in ascending order of their names`() throws {
        let json = try JSON(parsing: Array(#"{"b":1,"a":{"z":1,"y":[{"d":1,"c":2}]},"aa":2,"":0}"#.utf8))
        #expect(String(decoding: json.bytes, as: UTF8.self) == #"{"":0,"a":{"y":[{"c":2,"d":1}],"z":1},"aa":2,"b":1}"#)
    }

    @Test func `written numbers read back unchanged`() throws {
        for number in [0.1, 1e300, -2.5, 1.0, 123456789.125, 2.2250738585072014e-308] {
            #expect(try JSON(parsing: JSON.double(number).bytes).double == number)
        }
        #expect(JSON.double(.nan).bytes == Array("null".utf8))
    }

    @Test func `random bytes never trap`() {
        var random = SystemRandomNumberGenerator()
        let alphabet = Array(#"{}[]",:\u0019eE+-. truefalsn"#.utf8) + [0x00, 0x80, 0xC3, 0xFF]
        for _ in 0..<20_000 {
            let bytes = (0..<Int.random(in: 0...24, using: &random)).map { _ in
                alphabet.randomElement(using: &random) ?? 0
            }
            if let json = try? JSON(parsing: bytes) { #expect((try? JSON(parsing: json.bytes)) != nil) }
        }
    }
}
