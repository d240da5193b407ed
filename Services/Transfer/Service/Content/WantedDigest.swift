import RawStructuredFieldValues

/// The secure algorithms of RFC 9530, by their registered keys. The first one wins between equal preferences.
enum DigestAlgorithm: String, CaseIterable {
    case sha256 = "sha-256"
    case sha512 = "sha-512"

    /// The supported algorithm with the greatest preference in `Want-Repr-Digest` or `Want-Content-Digest`
    /// (RFC 9530 section 4). Preferences are 1 to 10; 0 means "not acceptable".
    ///
    /// - Returns: nil if none is wanted, or if the field is not a dictionary of integers (RFC 9651). A key without a value
    ///   is `true`, which is no preference.
    init?(wanted header: String?) {
        guard let header else { return nil }
        var parser = StructuredFieldValueParser(Array(header.utf8))
        guard let wishes = try? parser.parseDictionaryFieldValue() else { return nil }
        var best: (algorithm: DigestAlgorithm, preference: Int64)?
        for (_, wish) in wishes {
            guard case .item(let item) = wish, item.rfc9651BareItem.isPreference else { return nil }
        }
        for algorithm in Self.allCases {
            guard case .item(let item) = wishes[algorithm.rawValue],
                case .integer(let preference) = item.rfc9651BareItem, (1...10).contains(preference)
            else { continue }
            if preference > best?.preference ?? 0 { best = (algorithm, preference) }
        }
        guard let best else { return nil }
        self = best.algorithm
    }
}

extension RFC9651BareItem {
    fileprivate var isPreference: Bool {
        switch self {
        case .integer, .bool(true): true
        default: false
        }
    }
}
