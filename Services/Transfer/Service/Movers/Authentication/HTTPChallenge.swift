/// A challenge as a server writes it (RFC 9110 section 11.6.1).
struct HTTPChallenge: Equatable {
    /// In lower case.
    var scheme: String
    /// By names in lower case. Of those that come twice, the first.
    var parameters: [String: String] = [:]

    /// All challenges of the fields of a name, in order. Of a field that is faulty, those before the fault.
    static func parse(_ fields: [String]) -> [HTTPChallenge] {
        fields.flatMap { field -> [HTTPChallenge] in
            var parser = ChallengeParser(field)
            var challenges: [HTTPChallenge] = []
            while let challenge = parser.next() { challenges.append(challenge) }
            return challenges
        }
    }
}

/// Reads the challenges of one field. A comma may part challenges as well as parameters: what follows it tells.
private struct ChallengeParser {
    private var rest: Substring.UTF8View

    init(_ field: String) { rest = field[...].utf8 }

    /// - Returns: nil at the end, or at a fault.
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
            skip(Self.isBlank)
            guard rest.isEmpty || rest.first == UInt8(ascii: ",") else {
                rest = rest[rest.endIndex...]
                return nil
            }
        }
        return challenge
    }

    /// The name of another parameter of the same challenge, with its equals sign.
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

    /// Some schemes send one opaque word; none that is known here.
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

    /// A quoted string without its quotes and backslashes.
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
