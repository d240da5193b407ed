/// The validator of one state of a file (RFC 9110 section 8.8.3), with its quotes.
struct EntityTag: Equatable {
    let text: String
    let isWeak: Bool
}

/// What `If-Match` and `If-None-Match` list.
enum EntityTags: Equatable {
    /// `*`: whatever is there.
    case any
    case listed([EntityTag])

    /// Commas within the quotes belong to the tag. What is no tag is passed over: it names nothing.
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

    /// Whether both tags are strong and the same (section 8.8.3.2): what `If-Match` asks for.
    func matchStrongly(_ strong: String) -> Bool {
        switch self {
        case .any: true
        case .listed(let tags): tags.contains { !$0.isWeak && $0.text == strong }
        }
    }

    /// Whether the tags are the same but for weakness: what `If-None-Match` asks for.
    func matchWeakly(_ strong: String) -> Bool {
        switch self {
        case .any: true
        case .listed(let tags): tags.contains { $0.text == strong }
        }
    }
}
