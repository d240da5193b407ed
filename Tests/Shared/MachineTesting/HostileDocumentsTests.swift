import Foundation
import Records
import Testing

@testable import MachineTesting

@Suite("Hostile documents")
struct HostileDocumentsTests {
    @Test func `the same seed gives the same documents`() {
        var one = HostileDocuments(seed: 7)
        var other = HostileDocuments(seed: 7)
        var third = HostileDocuments(seed: 8)
        let documents = (0..<200).map { _ in one.next() }
        #expect(documents == (0..<200).map { _ in other.next() })
        #expect(documents != (0..<200).map { _ in third.next() })
    }

    @Test(arguments: [
        "-9223372036854775808.0", "-9.223372036854775808e18", "5e-324", "1.7976931348623157e308", "-0.0", #"\u0000"#,
        #"\ud800"#, #""":"#, #"{"a":{"a":{"a":{"a":{"a":{"a":{"a":{"a":{"a":{"a":{"a":{"a":{"a":{"a":{"a":{"a":{"a":"#,
        "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[", "1234567890123456789012345678901234567890",
    ])
    func `four thousand documents contain each hostile text`(text: String) {
        #expect(Self.holds(Self.some, Array(text.utf8)))
    }

    /// Four thousand consecutive documents.
    private static let some: [UInt8] = {
        var documents = HostileDocuments(seed: 1)
        return (0..<4000).flatMap { _ in documents.next() }
    }()

    @Test func `four thousand documents contain 64 KiB and bytes that are not UTF-8`() {
        var documents = HostileDocuments(seed: 2)
        var largest = 0
        var areAllText = true
        for _ in 0..<4000 {
            let document = documents.next()
            largest = max(largest, document.count)
            areAllText = areAllText && String(validating: document, as: UTF8.self) != nil
        }
        #expect(largest >= 65_536)
        #expect(!areAllText)
    }

    @Test func `a document with an object at the top begins with a brace`() {
        var documents = HostileDocuments(seed: 3)
        for _ in 0..<2000 { #expect(documents.nextObject().first == UInt8(ascii: "{")) }
    }

    @Test func `a header value contains no NUL and no line end`() {
        var documents = HostileDocuments(seed: 4)
        var isEverOutsideASCII = false
        for _ in 0..<2000 {
            let value = documents.nextHeaderValue()
            #expect(!value.contains { [0, 0x0A, 0x0D].contains($0) })
            isEverOutsideASCII = isEverOutsideASCII || value.contains { $0 > 0x7F }
        }
        #expect(isEverOutsideASCII)
    }

    @Test func `a body like another differs from it in some places only`() {
        var documents = HostileDocuments(seed: 5)
        let bodies = (0..<500).map { _ in documents.nextBody(like: ["name": "x", "count": 1, "list": [true, .null]]) }
        #expect(bodies.contains(Array(#"{"name":"x","count":1,"list":[true,null]}"#.utf8)))
        #expect(bodies.count { Self.holds($0, Array(#""name":"x""#.utf8)) } > 250)
        #expect(Set(bodies).count > 200)
    }

    private static func holds(_ document: [UInt8], _ wanted: [UInt8]) -> Bool {
        Data(document).range(of: Data(wanted)) != nil
    }
}
