/// The validator of one state of a file (RFC 9110 section 8.8.3), with its quotes.
struct EntityTag: Equatable {
    let text: String
    let isWeak: Bool
}

/// The value of `If-Match` or `If-None-Match`.
enum EntityTags: Equatable {
    /// `*`: any existing file.
    case any
    case listed([EntityTag])

    /// Parses a list of tags. A quoted comma belongs to its tag. Invalid tags are skipped.
    init(_ header: String) {
        var rest = header[...].drop { $0 == " " || $0 == "\t" }
        guard rest.prefix(while: { $0 != " " && $0 != "\t" }) != "*" else {
            self = .any
            return
        }
        var tags: [EntityTag] = []
        while true {
            rest = rest.drop { $0 == " " || $0 == "\t" || $0 == "," }
            guard !rest.isEmpty else { break }
            let isWeak = rest.hasPrefix("W/")
            let quoted = isWeak ? rest.dropFirst(2) : rest
            guard quoted.first == "\"", let end = quoted.dropFirst().firstIndex(of: "\"") else {
                rest = rest.drop { $0 != "," }
                continue
            }
            tags.append(EntityTag(text: String(quoted[...end]), isWeak: isWeak))
            rest = quoted[quoted.index(after: end)...]
        }
        self = .listed(tags)
    }

    /// The strong comparison of `If-Match` (section 8.8.3.2): both tags are strong and equal.
    func matchStrongly(_ strong: String) -> Bool {
        switch self {
        case .any: true
        case .listed(let tags): tags.contains { !$0.isWeak && $0.text == strong }
        }
    }

    /// The weak comparison of `If-None-Match`: the tags are equal except for weakness.
    func matchWeakly(_ strong: String) -> Bool {
        switch self {
        case .any: true
        case .listed(let tags): tags.contains { $0.text == strong }
        }
    }
}
