import Crypto
import FoundationEssentials

/// One numbered file of a schema's history. Its text is hashed as it stands, so an edit after the fact shows.
public struct Migration: Sendable, Equatable {
    /// From 1, without gaps.
    public let number: Int
    /// What follows the number: `bus` of `0001_bus.sql`.
    public let name: String
    /// The statements, with `{{name}}` where the migrator's variables go.
    public let sql: String
    /// SHA-256 of `sql` in hexadecimal.
    public let checksum: String
    /// Whether programs that do not know the migration may continue while it is applied: it only adds objects that they
    /// do not use. Its first line begins with `-- compatible`. Any other migration ends their readiness and prevents
    /// their start.
    public let isCompatible: Bool

    /// - Parameter fileName: four digits, `_`, lower-case words joined by `_`, `.sql`.
    /// - Throws: ``PostgresError/migration(_:)`` with ``MigrationProblem/badName(_:)``
    public init(fileName: String, sql: String) throws(PostgresError) {
        guard let match = fileName.wholeMatch(of: /([0-9]{4})_([a-z0-9_]+)\.sql/), let number = Int(match.1) else {
            throw .migration(.badName(fileName))
        }
        self.number = number
        name = String(match.2)
        self.sql = sql
        isCompatible = sql.lowercased().hasPrefix("-- compatible")
        checksum = SHA256.hash(data: Data(sql.utf8)).map { byte in
            let digits = String(byte, radix: 16)
            return digits.count == 1 ? "0" + digits : digits
        }.joined()
    }
}
