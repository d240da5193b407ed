import Crypto
public import Timeline

/// The API keys of operators. It keeps only their SHA-256.
public struct OperatorKeys: Sendable, Equatable {
    private struct Key: Sendable, Equatable {
        let name: String
        let scopes: Set<Caller.Scope>
        let hash: [UInt8]
        /// The real time from which the key is invalid; nil for never.
        let expiry: Instant?
    }

    /// A line of a key file that has another form.
    public struct InvalidLine: Error, Equatable, CustomStringConvertible {
        let number: Int

        public var description: String {
            "line \(number): expected \"name read|operate|read,operate sha256\", and an optional expiry such as "
                + "2027-01-31T00:00:00Z"
        }
    }

    private let keys: [Key]

    /// Creates an empty set of keys.
    public init() { keys = [] }

    /// Reads a key file, which has one key a line: `name scope[,scope] sha256 [expiry]`, such as
    /// `alice read,operate 9f86d0… 2027-01-31T00:00:00Z`. The expiry is real time in RFC 3339.
    ///
    /// It skips empty lines and lines that begin with `#`.
    public init(file text: String) throws(InvalidLine) {
        var keys: [Key] = []
        for (index, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
            let fields = line.split(whereSeparator: \.isWhitespace).map(String.init)
            guard let first = fields.first, !first.hasPrefix("#") else { continue }
            let scopes =
                (3...4).contains(fields.count)
                ? fields[1].split(separator: ",").map { Caller.Scope(rawValue: String($0)) } : []
            guard !scopes.isEmpty, !scopes.contains(nil), let hash = [UInt8](hexadecimal: fields[2]), hash.count == 32
            else { throw InvalidLine(number: index + 1) }
            let expiry = fields.count == 4 ? Instant(fields[3]) : nil
            guard fields.count == 3 || expiry != nil else { throw InvalidLine(number: index + 1) }
            keys.append(Key(name: first, scopes: Set(scopes.compactMap { $0 }), hash: hash, expiry: expiry))
        }
        self.keys = keys
    }

    /// The names of keys that differ between two files, in alphabetical order.
    public struct Changes: Sendable, Equatable {
        public var added: [String] = []
        public var removed: [String] = []
        /// The names whose keys, scopes or expiries differ.
        public var changed: [String] = []

        public var isEmpty: Bool { added.isEmpty && removed.isEmpty && changed.isEmpty }
    }

    /// Returns what a later file changes. A name may have several keys.
    public func changes(to later: OperatorKeys) -> Changes {
        let (before, after) = (
            Dictionary(grouping: keys, by: \.name), Dictionary(grouping: later.keys, by: \.name)
        )
        var changes = Changes()
        for name in Set(before.keys).union(after.keys).sorted() {
            guard let former = before[name] else { changes.added.append(name); continue }
            guard let next = after[name] else { changes.removed.append(name); continue }
            let isSame = former.count == next.count && former.allSatisfy(next.contains)
            if !isSame { changes.changed.append(name) }
        }
        return changes
    }

    /// Returns the line of a key file for a key.
    public static func line(name: String, scopes: Set<Caller.Scope>, key: String) -> String {
        let hash = SHA256.hash(data: Array(key.utf8)).map { byte in
            String(byte >> 4, radix: 16) + String(byte & 15, radix: 16)
        }
        return "\(name) \(scopes.map(\.rawValue).sorted().joined(separator: ",")) \(hash.joined())"
    }

    /// Returns the operator of a key that is valid at a real time. It compares all keys, so that the time reveals nothing.
    public func caller(presenting credential: Credential, at time: Instant) -> Caller? {
        var found: Caller?
        for key in keys where credential.hash == key.hash && key.expiry.map({ time < $0 }) ?? true {
            found = .operator(name: key.name, scopes: key.scopes)
        }
        return found
    }
}
