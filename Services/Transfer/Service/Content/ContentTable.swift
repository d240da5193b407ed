import Contracts
import Postgres
import Timeline

/// A row of `transfer.contents`: a path and its current file.
struct StoredContent: Sendable, Equatable {
    var path: String
    /// The generated name of the file, unique for each state of each path.
    var file: String
    var size: Int
    /// In hexadecimal.
    var sha256: String
    var contentType: String
    /// In whole seconds; later than that of the former state.
    var modifiedAt: Instant

    /// A strong tag that depends on the bytes alone.
    var etag: String { "\"\(sha256.prefix(32))\"" }
}

/// The table `transfer.contents`.
///
/// A change succeeds only if the row still has the file that the caller has read; otherwise the caller reads it again.
/// So preconditions hold at the time of the change, and exactly one caller removes a replaced file.
struct ContentTable: Sendable {
    let pool: ConnectionPool
    let partitions: Int

    private static let find = Statement(
        """
        SELECT file, size, sha256, content_type, modified_at FROM transfer.contents
        WHERE partition = $1 AND path = $2
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

    private func partition(_ path: String) -> Parameter {
        .int4(Int32(AggregateKey("content:" + path).partition(of: partitions)))
    }

    func find(_ path: String) async throws(PostgresError) -> StoredContent? {
        guard let row = try await pool.execute(Query(Self.find, [partition(path), .text(path)])).first else {
            return nil
        }
        return StoredContent(
            path: path, file: try row.text(0), size: try row.int(1), sha256: try row.text(2),
            contentType: try row.text(3), modifiedAt: Instant(milliseconds: Int64(try row.int(4))))
    }

    /// Creates or replaces the row of a path.
    ///
    /// - Parameter former: the row that the caller has read; nil if there was none.
    /// - Returns: false if the row has changed meanwhile; then this changes nothing.
    func put(_ content: StoredContent, inPlaceOf former: StoredContent?) async throws(PostgresError) -> Bool {
        var parameters: [Parameter] = [
            partition(content.path), .text(content.path), .text(content.file), .int(content.size),
            .text(content.sha256), .text(content.contentType),
            .int(Int(content.modifiedAt.milliseconds)),
        ]
        guard let former else { return try await !pool.execute(Query(Self.add, parameters)).isEmpty }
        parameters.append(.text(former.file))
        return try await !pool.execute(Query(Self.replace, parameters)).isEmpty
    }

    /// Removes the row of a path.
    ///
    /// - Returns: false if the row has changed meanwhile; then this changes nothing.
    func remove(_ content: StoredContent) async throws(PostgresError) -> Bool {
        let parameters: [Parameter] = [partition(content.path), .text(content.path), .text(content.file)]
        return try await !pool.execute(Query(Self.remove, parameters)).isEmpty
    }

    /// Returns the files that paths refer to.
    func inUse(_ files: [String]) async throws(PostgresError) -> Set<String> {
        let rows = try await pool.execute(Query(Self.inUse, [.texts(files)]))
        return Set(try rows.map { row throws(PostgresError) in try row.text(0) })
    }
}
