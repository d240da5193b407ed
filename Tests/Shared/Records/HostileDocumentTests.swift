import Foundation
import Records
import MachineTesting
import Testing

@Suite struct HostileDocumentTests {
    @Test(arguments: [
        "-9223372036854775808.0", "-9.223372036854775808e18", "9.223372036854775807e18", "-9223372036854775808",
        "9007199254740992.0", "-9007199254740993.0", "1.7976931348623157e308", "5e-324", "-0.0", "-0",
        "1234567890123456789012345678901234567890",
    ])
    func `an extreme number is written as it was read`(text: String) throws {
        let read = try JSON(parsing: Array(text.utf8))
        let again = try JSON(parsing: read.bytes)
        #expect(again.double == read.double)
        #expect(again.bytes == read.bytes)
    }

    @Test(arguments: [
        #""\u0000""#, #""a\u0000b""#, #"{"\u0000":1}"#, #"{"a":{"b\u0000":[]}}"#, #"["\ud83d\ude00\u0000"]"#,
    ])
    func `U+0000 is refused in every part of a document`(text: String) {
        #expect(throws: JSONSyntaxError.self) { try JSON(parsing: Array(text.utf8)) }
    }

    @Test(arguments: ["-0.0", "-0e5", "-1e-400"])
    func `zero has no sign, neither stored nor written`(text: String) throws {
        let zero = try #require(try JSON(parsing: Array(text.utf8)).double)
        #expect(zero.sign == .plus)
        #expect(JSON.double(-0.0).bytes == Array("0".utf8))
        var (one, other) = (BinaryWriter(), BinaryWriter())
        0.0.write(to: &one)
        (-0.0).write(to: &other)
        #expect(one.bytes == other.bytes)
    }

    @Test func `a document from outside has at most 24 levels, and a stored one has room for them`() throws {
        func nested(_ depth: Int) -> [UInt8] {
            Array(repeating: 0x5B, count: depth) + Array(repeating: 0x5D, count: depth)
        }
        let deepest = try JSON(received: nested(24))
        #expect(throws: JSONSyntaxError.self) { try JSON(received: nested(25)) }
        var wrapped = deepest
        for _ in 0..<16 { wrapped = ["payload": wrapped] }
        #expect(try JSON(parsing: wrapped.bytes) == wrapped)
    }

    @Test func `a document survives a round trip unchanged`() throws {
        var documents = HostileDocuments(seed: 11)
        var read = 0
        for _ in 0..<5000 {
            let text = documents.next()
            guard let json = try? JSON(parsing: text) else { continue }
            read += 1
            let written = json.bytes
            let again = try JSON(parsing: written)
            #expect(again.bytes == written)
            // Stored as part of a state.
            var writer = BinaryWriter()
            json.write(to: &writer)
            var reader = BinaryReader(writer.bytes)
            let stored = JSON.read(from: &reader)
            #expect(reader.isComplete && stored.bytes == written)
            // A foreign parser reads it too.
            #expect(throws: Never.self) {
                try JSONSerialization.jsonObject(with: Data(written), options: .fragmentsAllowed)
            }
        }
        #expect(read > 1500)
    }
}
