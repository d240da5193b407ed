import Crypto

/// The API keys of operators, of which only the SHA-256 is kept.
public struct OperatorKeys: Sendable {
    private struct Key: Sendable {
        let name: String
        let scopes: Set<Caller.Scope>
        let hash: [UInt8]
    }

    private let keys: [Key]

    /// No keys: no operator is let in.
    public init() { keys = [] }

    /// Reads a key file: a line a key, `name scope[,scope] sha256`, for example `alice read,operate 9f86d0…`. Empty lines
    /// and those that begin with `#` are passed over.
    public init(file text: String) throws(ConfigurationError) {
        var keys: [Key] = []
        for (index, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
            let fields = line.split(whereSeparator: \.isWhitespace).map(String.init)
            guard let first = fields.first, !first.hasPrefix("#") else { continue }
            let scopes =
                fields.count == 3 ? fields[1].split(separator: ",").map { Caller.Scope(rawValue: String($0)) } : []
            guard !scopes.isEmpty, !scopes.contains(nil), let hash = [UInt8](hexadecimal: fields[2]), hash.count == 32
            else {
                throw ConfigurationError(
                    "OPERATOR_KEY_FILE, line \(index + 1): expected \"name read|operate|read,operate sha256\"")
            }
            keys.append(Key(name: first, scopes: Set(scopes.compactMap { $0 }), hash: hash))
        }
        self.keys = keys
    }

    /// The line of a key file for a key.
    public static func line(name: String, scopes: Set<Caller.Scope>, key: String) -> String {
        let hash = SHA256.hash(data: Array(key.utf8)).map { byte in
            String(byte >> 4, radix: 16) + String(byte & 15, radix: 16)
        }
        return "\(name) \(scopes.map(\.rawValue).sorted().joined(separator: ",")) \(hash.joined())"
    }

    /// Whose key this is. Every key is compared to its end, so that the time taken tells nothing.
    public func caller(presenting key: String) -> Caller? {
        let presented = SHA256.hash(data: Array(key.utf8))
        var found: Caller?
        for key in keys where presented == key.hash { found = .operator(name: key.name, scopes: key.scopes) }
        return found
    }
}

extension [UInt8] {
    /// Nil where the text is not pairs of hexadecimal digits.
    init?(hexadecimal text: String) {
        let digits = Array(text.utf8)
        guard digits.count.isMultiple(of: 2) else { return nil }
        var bytes: [UInt8] = []
        for index in stride(from: 0, to: digits.count, by: 2) {
            guard let high = Character(Unicode.Scalar(digits[index])).hexDigitValue,
                let low = Character(Unicode.Scalar(digits[index + 1])).hexDigitValue
            else { return nil }
            bytes.append(UInt8(high << 4 | low))
        }
        self = bytes
    }
}
