import Crypto

/// The API keys of operators. It keeps only their SHA-256.
public struct OperatorKeys: Sendable {
    private struct Key: Sendable {
        let name: String
        let scopes: Set<Caller.Scope>
        let hash: [UInt8]
    }

    /// A line of a key file that has another form.
    public struct InvalidLine: Error, Equatable, CustomStringConvertible {
        let number: Int

        public var description: String { "line \(number): expected \"name read|operate|read,operate sha256\"" }
    }

    private let keys: [Key]

    /// Creates an empty set of keys.
    public init() { keys = [] }

    /// Reads a key file, which has one key a line: `name scope[,scope] sha256`, such as `alice read,operate 9f86d0…`.
    ///
    /// It skips empty lines and lines that begin with `#`.
    public init(file text: String) throws(InvalidLine) {
        var keys: [Key] = []
        for (index, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
            let fields = line.split(whereSeparator: \.isWhitespace).map(String.init)
            guard let first = fields.first, !first.hasPrefix("#") else { continue }
            let scopes =
                fields.count == 3 ? fields[1].split(separator: ",").map { Caller.Scope(rawValue: String($0)) } : []
            guard !scopes.isEmpty, !scopes.contains(nil), let hash = [UInt8](hexadecimal: fields[2]), hash.count == 32
            else { throw InvalidLine(number: index + 1) }
            keys.append(Key(name: first, scopes: Set(scopes.compactMap { $0 }), hash: hash))
        }
        self.keys = keys
    }

    /// Returns the line of a key file for a key.
    public static func line(name: String, scopes: Set<Caller.Scope>, key: String) -> String {
        let hash = SHA256.hash(data: Array(key.utf8)).map { byte in
            String(byte >> 4, radix: 16) + String(byte & 15, radix: 16)
        }
        return "\(name) \(scopes.map(\.rawValue).sorted().joined(separator: ",")) \(hash.joined())"
    }

    /// Returns the operator of a key. It compares all keys, so that the time reveals nothing.
    public func caller(presenting credential: Credential) -> Caller? {
        var found: Caller?
        for key in keys where credential.hash == key.hash { found = .operator(name: key.name, scopes: key.scopes) }
        return found
    }
}
