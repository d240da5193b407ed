/// An authentication challenge (RFC 9110 section 11.6.1).
struct HTTPChallenge: Equatable {
    /// In lower case.
    var scheme: String
    /// Parameters by names in lower case. The first one of a name counts.
    var parameters: [String: String] = [:]

    /// Returns the challenges of all header fields, in order. An invalid field counts up to its first error.
    static func parse(_ fields: [String]) -> [HTTPChallenge] {
        fields.flatMap { field -> [HTTPChallenge] in
            var parser = ChallengeParser(field)
            var challenges: [HTTPChallenge] = []
            while let challenge = parser.next() { challenges.append(challenge) }
            return challenges
        }
    }
}

/// Parses the challenges of one field. A comma separates challenges as well as parameters; the next tokens decide.
private struct ChallengeParser {
    private var rest: Substring.UTF8View

    init(_ field: String) { rest = field[...].utf8 }

    /// - Returns: nil at the end or at an error.
    mutating func next() -> HTTPChallenge? {
        skip { Self.isBlank($0) || $0 == UInt8(ascii: ",") }
        guard let scheme = token() else { return nil }
        var challenge = HTTPChallenge(scheme: scheme.lowercased())
        guard rest.isEmpty || Self.isBlank(rest.first) || rest.first == UInt8(ascii: ",") else { return nil }
        skip(Self.isBlank)
        if takeToken68() { return challenge }
        while let name = parameterName() {
            guard let value = rest.first == UInt8(ascii: "\"") ? quoted() : token() else {
                rest = rest[rest.endIndex...]
                return nil
            }
            if challenge.parameters[name] == nil { challenge.parameters[name] = value }
            // nginx does not escape quotes in a realm.
            skip { $0 != UInt8(ascii: ",") }
        }
        return challenge
    }

    /// Parses the name of the next parameter of the same challenge, with its equals sign.
    private mutating func parameterName() -> String? {
        let start = rest
        skip { Self.isBlank($0) || $0 == UInt8(ascii: ",") }
        if let name = token() {
            skip(Self.isBlank)
            if rest.first == UInt8(ascii: "=") {
                rest = rest.dropFirst()
                skip(Self.isBlank)
                return name.lowercased()
            }
        }
        rest = start
        return nil
    }

    /// Skips the single opaque token that some unsupported schemes send.
    private mutating func takeToken68() -> Bool {
        let start = rest
        let word = rest.prefix { Self.isLetterOrDigit($0) || "-._~+/".utf8.contains($0) }
        rest = rest[word.endIndex...].drop { $0 == UInt8(ascii: "=") }
        skip(Self.isBlank)
        if !word.isEmpty, rest.isEmpty || rest.first == UInt8(ascii: ",") { return true }
        rest = start
        return false
    }

    private mutating func token() -> String? {
        let found = rest.prefix { Self.isLetterOrDigit($0) || "!#$%&'*+-.^_`|~".utf8.contains($0) }
        guard !found.isEmpty else { return nil }
        rest = rest[found.endIndex...]
        return String(decoding: found, as: UTF8.self)
    }

    /// Parses a quoted string and returns it without quotes and backslashes.
    private mutating func quoted() -> String? {
        var bytes: [UInt8] = []
        var index = rest.index(after: rest.startIndex)
        while index < rest.endIndex, rest[index] != UInt8(ascii: "\"") {
            if rest[index] == UInt8(ascii: "\\") { index = rest.index(after: index) }
            guard index < rest.endIndex else { return nil }
            bytes.append(rest[index])
            index = rest.index(after: index)
        }
        guard index < rest.endIndex else { return nil }
        rest = rest[rest.index(after: index)...]
        return String(decoding: bytes, as: UTF8.self)
    }

    private mutating func skip(_ isPassed: (UInt8) -> Bool) { rest = rest.drop(while: isPassed) }

    private static func isBlank(_ byte: UInt8) -> Bool { byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") }
    private static func isBlank(_ byte: UInt8?) -> Bool { byte.map { isBlank($0) } ?? false }
    private static func isLetterOrDigit(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) || (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte)
            || (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte)
    }
}
