import Crypto
import FoundationEssentials

/// A numbered migration file of a schema. The checksum of its whole text, with comments, reveals later edits.
public struct Migration: Sendable, Equatable {
    /// The number, from 1, without gaps.
    public let number: Int
    /// The words after the number: `bus` of `0001_bus.sql`.
    public let name: String
    /// The statements, with `{{name}}` for the migrator's variables.
    public let sql: String
    /// SHA-256 of `sql` in hexadecimal.
    public let checksum: String
    /// Whether older programs can work with the migrated schema, because it only adds objects that they do not use.
    /// The first line of the file then begins with `-- compatible`. Any other migration makes older programs unready
    /// and prevents their start.
    public let isCompatible: Bool

    /// - Parameters:
    ///   - fileName: as in ``init(fileName:sql:)``.
    ///   - utf8: the content of the file.
    public init(fileName: String, utf8: [UInt8]) throws(PostgresError) {
        try self.init(fileName: fileName, sql: String(decoding: utf8, as: UTF8.self))
    }

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
