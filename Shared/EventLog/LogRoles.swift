/// The names of the database roles of an installation. Roles belong to the whole PostgreSQL cluster, so two installations
/// in one cluster need two prefixes.
public struct LogRoles: Sendable, Equatable {
    /// The roles with the prefix `dormouse`.
    public static let standard = LogRoles(prefix: "dormouse")

    /// Lower-case letters, digits and underscores, at most 32.
    public let prefix: String

    /// - Precondition: ``isPrefix(_:)``, because names of roles stand in statements without quotes.
    public init(prefix: String) {
        precondition(Self.isPrefix(prefix), "a prefix has lower-case letters, digits and underscores")
        self.prefix = prefix
    }

    /// Whether a text can be the prefix of roles: 1 to 32 of `a-z 0-9 _`, beginning with a letter. PostgreSQL reserves
    /// names that begin with `pg_`.
    public static func isPrefix(_ text: String) -> Bool {
        let letters = UInt8(ascii: "a")...UInt8(ascii: "z")
        guard (1...32).contains(text.utf8.count), let first = text.utf8.first, letters.contains(first) else {
            return false
        }
        guard text != "pg", !text.hasPrefix("pg_") else { return false }
        return text.utf8.allSatisfy {
            letters.contains($0) || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) || $0 == UInt8(ascii: "_")
        }
    }

    /// The role of a service.
    ///
    /// - Precondition: a service name is lower-case letters.
    public func role(of service: String) -> String {
        precondition(service.utf8.allSatisfy { (0x61...0x7A).contains($0) }, "a service name is lower-case letters")
        return "\(prefix)_\(service)"
    }

    /// The role of `ops`, which reads the log.
    public var operators: String { role(of: "ops") }

    /// The role of SQL tools such as Grafana.
    public var dashboards: String { role(of: "dashboards") }
}
