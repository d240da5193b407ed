/// The secure algorithms of RFC 9530, by their registered keys. The first one wins between equal preferences.
enum DigestAlgorithm: String, CaseIterable {
    case sha256 = "sha-256"
    case sha512 = "sha-512"

    /// The supported algorithm with the greatest preference in `Want-Repr-Digest` or `Want-Content-Digest`
    /// (RFC 9530 section 4). Preferences are 1 to 10; 0 means "not acceptable".
    ///
    /// - Returns: nil if none is wanted, or if the field is not a dictionary (RFC 9651).
    init?(wanted header: String?) {
        guard let header, let wishes = DigestWishes(header)?.numbers else { return nil }
        var best: (algorithm: DigestAlgorithm, preference: Int)?
        for algorithm in Self.allCases {
            guard let preference = wishes[algorithm.rawValue], (1...10).contains(preference) else { continue }
            if preference > best?.preference ?? 0 { best = (algorithm, preference) }
        }
        guard let best else { return nil }
        self = best.algorithm
    }
}

/// A structured-field dictionary (RFC 9651 section 4.2.2) with integers as values. Parameters are skipped.
struct DigestWishes {
    private(set) var numbers: [String: Int] = [:]
    private var rest: Substring.UTF8View

    /// - Returns: nil if the text is not a dictionary, or a value is not an integer.
    init?(_ text: String) {
        rest = text[...].utf8
        skip { $0 == UInt8(ascii: " ") }
        while !rest.isEmpty {
            guard let key = key() else { return nil }
            if take(UInt8(ascii: "=")) {
                guard let number = integer() else { return nil }
                numbers[key] = number
            } else {
                // A key without a value is `true`, which is no preference. It replaces an earlier value.
                numbers[key] = nil
            }
            guard parameters() else { return nil }
            skip(Self.isBlank)
            if rest.isEmpty { break }
            guard take(UInt8(ascii: ",")) else { return nil }
            skip(Self.isBlank)
            if rest.isEmpty { return nil }
        }
    }

    private static func isBlank(_ byte: UInt8) -> Bool { byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") }
    private static func isDigit(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }
    private static func isLetter(_ byte: UInt8) -> Bool { (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte) }

    private mutating func skip(_ isPassed: (UInt8) -> Bool) { rest = rest.drop(while: isPassed) }

    private mutating func take(_ byte: UInt8) -> Bool {
        guard rest.first == byte else { return false }
        rest = rest.dropFirst()
        return true
    }

    private mutating func run(_ belongs: (UInt8) -> Bool) -> String {
        let found = rest.prefix(while: belongs)
        rest = rest[found.endIndex...]
        return String(decoding: found, as: UTF8.self)
    }

    private mutating func key() -> String? {
        guard let first = rest.first, Self.isLetter(first) || first == UInt8(ascii: "*") else { return nil }
        return run { Self.isLetter($0) || Self.isDigit($0) || "_-.*".utf8.contains($0) }
    }

    private mutating func integer() -> Int? {
        let sign = take(UInt8(ascii: "-")) ? -1 : 1
        let digits = run(Self.isDigit)
        guard digits.count <= 15, rest.first != UInt8(ascii: "."), let number = Int(digits) else { return nil }
        return sign * number
    }

    /// Skips parameters with unquoted values. No parameters are defined so far.
    private mutating func parameters() -> Bool {
        while take(UInt8(ascii: ";")) {
            skip { $0 == UInt8(ascii: " ") }
            guard key() != nil else { return false }
            if take(UInt8(ascii: "=")), run({ !Self.isBlank($0) && !"\",;".utf8.contains($0) }).isEmpty { return false }
        }
        return true
    }
}
