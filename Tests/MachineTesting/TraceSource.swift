public import Records
import Timeline

/// The evidence for a trace: who states the rule, and in which words.
///
/// | kind | the rule is in | needs |
/// |---|---|---|
/// | `apple` | Apple's documentation, read | `url`, `quote`, `seen` |
/// | `rfc` | a document of the IETF, read | `url`, `quote`, `seen` |
/// | `seed` | a source document of this project, read | `document`, `quote` |
/// | `secondary` | a third party's page, or a page that the author could not read | `note` |
/// | `choice` | this project alone | `note` |
///
/// `quote` has the words of the page that decide the outcome, and ` … ` for each omission. It has at most 12 words and
/// 90 characters for `apple` and `secondary`, and at most 240 characters for `rfc` and `seed`. `seen` is the date of
/// the copy that was read. `note` says, in the project's own words, the rest of the rule and what the trace adds to it.
public struct TraceSource: Sendable, Equatable {
    /// The origin of a rule.
    public enum Kind: String, Sendable, CaseIterable {
        case apple, rfc, seed, secondary, choice
    }

    /// The titles of the project's source documents, all of them pages of Microsoft about Xamarin.iOS.
    public static let documents: Set<String> = [
        "La mise à jour d’une application Xamarin.iOS en arrière-plan", "Introduction au Backgrounding dans iOS",
        "Backgrounding iOS avec des tâches", "Atualizando um aplicativo em segundo plano",
        "Transfert en arrière-plan et passer dans Xamarin. iOS",
    ]

    public let kind: Kind
    /// The address of the page.
    public let url: String?
    /// The words of the page or document, in its language.
    public let quote: String?
    /// The date of the copy that was read, for example `2026-11-24`.
    public let seen: String?
    /// The title of the source document.
    public let document: String?
    public let note: String?

    /// Reads a source.
    ///
    /// - Throws: ``TraceFailed`` with all faults of the source.
    public init(_ json: JSON) throws(TraceFailed) {
        guard let members = json.members, let kind = json["kind"]?.string.flatMap(Kind.init) else {
            let kinds = Kind.allCases.map(\.rawValue).joined(separator: ", ")
            throw TraceFailed(place: "source", reasons: ["needs a kind: \(kinds)"])
        }
        var faults = members.filter { $0.name != "kind" }.compactMap { member in
            if !kind.allowed.contains(member.name) { return "\(kind) has no \(member.name)" }
            let text = member.value.string ?? ""
            return text.isEmpty || text.first == " " || text.last == " " ? "\(member.name) needs text" : nil
        }
        faults += kind.needed.filter { json[$0] == nil }.map { "\(kind) needs \($0)" }
        if let url = json["url"]?.string, !kind.holds(url) { faults.append("\(url) is no address for \(kind)") }
        if let seen = json["seen"]?.string, seen.count != 10 || Instant(seen + "T00:00:00Z") == nil {
            faults.append("\(seen) is no date")
        }
        if let document = json["document"]?.string, !Self.documents.contains(document) {
            faults.append("\(document) is no source document")
        }
        if let quote = json["quote"]?.string { faults += kind.faults(ofQuote: quote) }
        guard faults.isEmpty else { throw TraceFailed(place: "source", reasons: faults) }
        self.kind = kind
        url = json["url"]?.string
        quote = json["quote"]?.string
        seen = json["seen"]?.string
        document = json["document"]?.string
        note = json["note"]?.string
    }

    /// Reads the sources of a trace: one source, or a list with the strongest first.
    public static func all(_ json: JSON) throws(TraceFailed) -> [TraceSource] {
        guard let items = json.items else { return [try TraceSource(json)] }
        guard items.count > 1 else { throw TraceFailed(place: "source", reasons: ["a list has several sources"]) }
        var sources: [TraceSource] = []
        for item in items { sources.append(try TraceSource(item)) }
        return sources
    }
}

extension TraceSource.Kind {
    /// Whether a reader who knows only the quote, the note and the inputs of a trace can write its outcome.
    public var canBeIndependent: Bool {
        switch self {
        case .apple, .rfc, .seed: true
        case .secondary, .choice: false
        }
    }

    /// The most characters of a quote.
    private var quotedCharacters: Int {
        switch self {
        case .apple, .secondary, .choice: 90
        case .rfc, .seed: 240
        }
    }

    /// The most words of a quote, counted between white space, or `nil` without a limit.
    private var quotedWords: Int? {
        switch self {
        case .apple, .secondary, .choice: 12
        case .rfc, .seed: nil
        }
    }

    fileprivate func faults(ofQuote quote: String) -> [String] {
        var faults: [String] = []
        if quote.count > quotedCharacters {
            faults.append("quote of \(self) has \(quote.count) characters, at most \(quotedCharacters): shorten it")
        }
        let words = quote.split(whereSeparator: \.isWhitespace).count
        if let quotedWords, words > quotedWords {
            faults.append("quote of \(self) has \(words) words, at most \(quotedWords): shorten it")
        }
        return faults
    }

    fileprivate var needed: [String] {
        switch self {
        case .apple, .rfc: ["url", "quote", "seen"]
        case .seed: ["document", "quote"]
        case .secondary, .choice: ["note"]
        }
    }

    fileprivate var allowed: Set<String> {
        switch self {
        case .apple, .rfc, .secondary: ["url", "quote", "seen", "note"]
        case .seed: ["document", "quote", "note"]
        case .choice: ["note"]
        }
    }

    /// Whether the address is one of the publisher.
    fileprivate func holds(_ url: String) -> Bool {
        guard url.hasPrefix("https://"), !url.contains(" ") else { return false }
        let host = url.dropFirst(8).prefix { $0 != "/" }
        let publishers: [String] =
            switch self {
            case .apple: ["apple.com"]
            case .rfc: ["ietf.org", "rfc-editor.org", "httpwg.org"]
            case .seed, .secondary, .choice: []
            }
        return publishers.isEmpty ? host.contains(".") : publishers.contains { host == $0 || host.hasSuffix("." + $0) }
    }
}
