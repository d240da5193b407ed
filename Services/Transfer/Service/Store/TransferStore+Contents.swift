import Contracts
import EventLog
import Postgres
import Timeline

// The table `transfer.contents`.
//
// A change succeeds only if the row still has the file that the caller has read; otherwise the caller reads it again.
// So preconditions hold at the time of the change, and exactly one caller removes a replaced file.
extension TransferStore {
    private static let find = Statement(
        """
        SELECT c.path, c.file, c.size, c.sha256, c.content_type, c.modified_at
        FROM unnest($1::int4[], $2::text[]) AS a (partition, path) JOIN transfer.contents AS c USING (partition, path)
        """)
    private static let add = Statement(
        """
        INSERT INTO transfer.contents (partition, path, file, size, sha256, content_type, modified_at)
        VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT ON CONSTRAINT contents_pkey DO NOTHING RETURNING true
        """)
    private static let replace = Statement(
        """
        UPDATE transfer.contents
        SET file = $3, size = $4, sha256 = $5, content_type = $6, modified_at = $7
        WHERE partition = $1 AND path = $2 AND file = $8 RETURNING true
        """)
    private static let remove = Statement(
        "DELETE FROM transfer.contents WHERE partition = $1 AND path = $2 AND file = $3 RETURNING true")

    private static let inUse = Statement("SELECT file FROM transfer.contents WHERE file = ANY($1)")

    private func parameters(_ path: String) -> [Parameter] {
        [.partition(Self.partition(of: path, partitions)), .text(path)]
    }

    private static func partition(of path: String, _ partitions: Int) -> Int {
        AggregateKey("content:" + path).partition(of: partitions)
    }

    /// Returns the file at a path; nil if there is none. Many readers share queries.
    func content(_ path: String) async throws -> StoredContent? { try await contents.value(of: path) }

    /// Returns the files at some paths.
    static func contents(at paths: [String], _ pool: ConnectionPool, partitions: Int) async throws(PostgresError)
        -> [String: StoredContent]
    {
        let places = paths.map { Int32(partition(of: $0, partitions)) }
        let rows = try await pool.execute(find, .int4s(places), .texts(paths))
            .decode((String, String, Int, String, String, Instant).self)
        let found = rows.map {
            StoredContent(path: $0, file: $1, size: $2, sha256: $3, contentType: $4, modifiedAt: $5)
        }
        return Dictionary(uniqueKeysWithValues: found.map { ($0.path, $0) })
    }

    /// Creates or replaces the row of a path.
    ///
    /// - Parameters:
    ///   - former: the row that the caller has read; nil if there was none.
    ///   - audit: the entry of the audit trail.
    /// - Returns: false if the row has changed meanwhile; then this changes nothing.
    func put(_ content: StoredContent, inPlaceOf former: StoredContent?, _ audit: AuditEntry) async throws -> Bool {
        let columns: [Parameter] = [
            .text(content.file), .int(content.size), .text(content.sha256), .text(content.contentType),
            .instant(content.modifiedAt),
        ]
        let row = parameters(content.path) + columns
        guard let former else { return try await change(Query(Self.add, row), audit) }
        return try await change(Query(Self.replace, row + [.text(former.file)]), audit)
    }

    /// Removes the row of a path.
    ///
    /// - Parameter audit: the entry of the audit trail.
    /// - Returns: false if the row has changed meanwhile; then this changes nothing.
    func remove(_ content: StoredContent, _ audit: AuditEntry) async throws -> Bool {
        try await change(Query(Self.remove, parameters(content.path) + [.text(content.file)]), audit)
    }

    private func change(_ query: Query, _ audit: AuditEntry) async throws -> Bool {
        try await pool.transaction { connection in
            guard try await connection.execute(query).affected > 0 else { return false }
            _ = try await connection.execute(audit.query)
            return true
        }
    }

    /// Returns the files that paths refer to.
    func filesOfContents(among files: [String]) async throws(PostgresError) -> Set<String> {
        Set(try await pool.execute(Self.inUse, .texts(files)).decode(String.self))
    }
}
