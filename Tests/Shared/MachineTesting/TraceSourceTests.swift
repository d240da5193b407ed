import MachineTesting
import Records
import Testing

/// The evidence of golden traces.
@Suite struct TraceSourceTests {
    private static let apple: JSON = [
        "kind": "apple", "url": "https://developer.apple.com/documentation/uikit", "quote": "Words of the page.",
        "seen": "2026-11-24", "note": "the rest is a choice",
    ]
    private static let seed: JSON = [
        "kind": "seed", "document": "Introduction au Backgrounding dans iOS", "quote": "Des mots.",
    ]
    private static let choice: JSON = ["kind": "choice", "note": "the reason"]
    private static let steps: JSON = [["at": 0, "do": "advance"]]

    @Test(arguments: [
        apple, seed, choice,
        [
            "kind": "rfc", "url": "https://www.rfc-editor.org/rfc/rfc9110", "quote": "Words.", "seen": "2022-06-01",
        ],
        ["kind": "secondary", "note": "a page of others", "url": "https://example.org/page"],
    ])
    func `a complete source is read`(_ json: JSON) throws {
        let source = try TraceSource(json)
        #expect(source.kind.rawValue == json["kind"]?.string)
        #expect(source.url == json["url"]?.string)
        #expect(source.quote == json["quote"]?.string)
        #expect(source.seen == json["seen"]?.string)
        #expect(source.document == json["document"]?.string)
        #expect(source.note == json["note"]?.string)
    }

    @Test(
        arguments: [
            ("Apple, a page", "needs a kind: apple, rfc, seed, secondary, choice"),
            (["note": "the reason"], "needs a kind: apple, rfc, seed, secondary, choice"),
            (["kind": "hearsay", "note": "the reason"], "needs a kind: apple, rfc, seed, secondary, choice"),
            (apple.without("url"), "apple needs url"),
            (apple.without("quote"), "apple needs quote"),
            (apple.without("seen"), "apple needs seen"),
            (["kind": "rfc"], "rfc needs url"),
            (["kind": "rfc"], "rfc needs quote"),
            (["kind": "rfc"], "rfc needs seen"),
            (seed.without("document"), "seed needs document"),
            (seed.without("quote"), "seed needs quote"),
            (["kind": "secondary"], "secondary needs note"),
            (["kind": "choice"], "choice needs note"),
            (apple.overlaid(with: ["quote": ""]), "quote needs text"),
            (apple.overlaid(with: ["quote": " "]), "quote needs text"),
            (apple.overlaid(with: ["quote": 1]), "quote needs text"),
            (apple.overlaid(with: ["page": "UIKit"]), "apple has no page"),
            (seed.overlaid(with: ["url": "https://example.org/page"]), "seed has no url"),
            (choice.overlaid(with: ["quote": "Words."]), "choice has no quote"),
            (
                apple.overlaid(with: ["url": "http://developer.apple.com/documentation"]),
                "http://developer.apple.com/documentation is no address for apple"
            ),
            (apple.overlaid(with: ["url": "https://notapple.com/a"]), "https://notapple.com/a is no address for apple"),
            (
                apple.overlaid(with: ["kind": "rfc"]),
                "https://developer.apple.com/documentation/uikit is no address for rfc"
            ),
            (choice.overlaid(with: ["kind": "secondary", "url": "a page"]), "a page is no address for secondary"),
            (apple.overlaid(with: ["seen": "2026-13-01"]), "2026-13-01 is no date"),
            (apple.overlaid(with: ["seen": "24.11.2026"]), "24.11.2026 is no date"),
            (seed.overlaid(with: ["document": "Another page"]), "Another page is no source document"),
        ] as [(JSON, String)])
    func `a source with a fault is refused`(_ json: JSON, _ fault: String) {
        let error = #expect(throws: TraceFailed.self) { try TraceSource(json) }
        #expect(error?.reasons.contains(fault) == true, "\(error?.reasons ?? [])")
    }

    @Test(
        arguments: [
            (apple, 90, 12), (choice.overlaid(with: ["kind": "secondary"]), 90, 12), (seed, 240, nil),
            (apple.overlaid(with: ["kind": "rfc", "url": "https://www.rfc-editor.org/rfc/rfc9110"]), 240, nil),
        ] as [(JSON, Int, Int?)])
    func `a quote of more than its limit is refused`(_ json: JSON, _ mostCharacters: Int, _ mostWords: Int?) throws {
        let kind = try #require(json["kind"]?.string)
        func faults(_ quote: String) -> [String] {
            do {
                _ = try TraceSource(json.overlaid(with: ["quote": .string(quote)]))
                return []
            } catch { return error.reasons }
        }
        #expect(faults(String(repeating: "é", count: mostCharacters)) == [])
        #expect(
            faults(String(repeating: "é", count: mostCharacters + 1)) == [
                "quote of \(kind) has \(mostCharacters + 1) characters, at most \(mostCharacters): shorten it"
            ])
        #expect(faults(Array(repeating: "w", count: 12).joined(separator: " ")) == [])
        let reason = mostWords.map { "quote of \(kind) has 13 words, at most \($0): shorten it" }
        #expect(faults(Array(repeating: "w", count: 13).joined(separator: " ")) == (reason.map { [$0] } ?? []))
    }

    @Test func `a trace has one source or a list of several`() throws {
        func sources(_ source: JSON) throws -> [TraceSource.Kind] {
            try Trace("t", ["source": source, "steps": Self.steps]).sources.map(\.kind)
        }
        #expect(try sources(Self.seed) == [.seed])
        #expect(try sources([Self.apple, Self.choice]) == [.apple, .choice])
        #expect(throws: TraceFailed.self) { try sources([Self.apple]) }
        #expect(throws: TraceFailed.self) { try sources([]) }
        #expect(throws: TraceFailed.self) { try sources([Self.apple, "a page"]) }
        #expect(throws: TraceFailed.self) { try Trace("t", ["steps": Self.steps]) }
        #expect(throws: TraceFailed.self) { try Trace("t", ["source": Self.choice, "steps": []]) }
    }

    @Test func `only words that were read are independent evidence`() throws {
        func isIndependent(_ source: JSON, _ independent: JSON) throws -> Bool {
            try Trace("t", ["source": source, "independent": independent, "steps": Self.steps]).isIndependent
        }
        #expect(try isIndependent(Self.apple, true))
        #expect(try isIndependent([Self.seed, Self.choice], true))
        #expect(try !isIndependent(Self.choice, false))
        #expect(try !Trace("t", ["source": Self.apple, "steps": Self.steps]).isIndependent)
        #expect(throws: TraceFailed.self) { try isIndependent(Self.choice, true) }
        #expect(throws: TraceFailed.self) { try isIndependent([Self.choice, Self.apple], true) }
        #expect(throws: TraceFailed.self) {
            try isIndependent(["kind": "secondary", "note": "a page of others"], true)
        }
        #expect(throws: TraceFailed.self) { try isIndependent(Self.apple, "yes") }
    }
}
