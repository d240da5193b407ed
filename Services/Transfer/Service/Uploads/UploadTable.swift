import Contracts
import Foundation
import Postgres
import Timeline

/// The table `transfer.uploads`. Its times are real time by the database's clock.
struct UploadTable: Sendable {
    let pool: ConnectionPool
    let partitions: Int
    /// Seconds until an incomplete upload expires.
    let lifetime: Int

    private static let columns = """
        id, owner, epoch, is_held, received, length, is_complete, concatenation, metadata, content_type, files, sizes,
        expires_at, is_gone OR coalesce(expires_at <= now(), false)
        """
    private static let find = Statement(
        "SELECT \(columns) FROM transfer.uploads WHERE partition = $1 AND id = $2")
    private static let insert = Statement(
        """
        INSERT INTO transfer.uploads (
            partition, id, owner, epoch, is_held, received, length, is_complete, concatenation, metadata, content_type,
            files, sizes, expires_at, is_gone)
        VALUES ($1, $2, $3, 1, false, 0, $4, $5, $6, $7, $8, $9, $10, now() + $11 * interval '1 second', false)
        RETURNING \(columns)
        """)
    private static let seize = Statement(
        """
        UPDATE transfer.uploads SET epoch = epoch + 1 WHERE partition = $1 AND id = $2 RETURNING \(columns)
        """)
    private static let commit = Statement(
        """
        UPDATE transfer.uploads SET
            is_held = $4, received = $5, length = $6, is_complete = $7, files = $8, sizes = $9,
            expires_at = now() + $10 * interval '1 second'
        WHERE partition = $1 AND id = $2
            -- Fences older requests, refuses uploads that are gone, and never decreases the offset.
            AND epoch = $3 AND NOT is_gone AND received <= $5
        RETURNING \(columns)
        """)
    private static let reap = Statement(
        """
        UPDATE transfer.uploads SET epoch = epoch + 1, is_gone = true, expires_at = now()
        WHERE partition = $1 AND id = $2 AND NOT is_gone
        """)
    private static let buryExpired = Statement(
        """
        UPDATE transfer.uploads SET epoch = epoch + 1, is_gone = true
        WHERE partition = $1 AND NOT is_gone AND expires_at <= now()
        """)
    private static let buried = Statement(
        """
        SELECT id, files FROM transfer.uploads
        WHERE partition = $1 AND is_gone AND expires_at <= now() AND cardinality(files) > 0 LIMIT 100
        """)
    private static let emptied = Statement(
        "UPDATE transfer.uploads SET files = '{}', sizes = '{}' WHERE partition = $1 AND id = $2 AND is_gone")
    private static let forget = Statement(
        """
        DELETE FROM transfer.uploads
        WHERE partition = $1 AND is_gone AND expires_at <= now() - $2 * interval '1 second' AND cardinality(files) = 0
        """)

    private static let inUse = Statement(
        """
        SELECT unnest(upload.files) FROM unnest($1::bigint[], $2::text[]) AS asked (partition, id)
        JOIN transfer.uploads AS upload ON upload.partition = asked.partition AND upload.id = asked.id
        """)

    private func keyParameters(_ id: String) -> [Parameter] {
        [.int4(Int32(partition(id))), .text(id)]
    }

    private func partition(_ id: String) -> Int { AggregateKey("upload:" + id).partition(of: partitions) }

    /// Returns null for an upload that does not expire: in SQL, `now()` plus null is null.
    private func lifetime(of upload: Upload) -> Parameter { .double(upload.mayExpire ? Double(lifetime) : nil) }

    func find(_ id: String) async throws(PostgresError) -> Upload? {
        try Self.upload(try await pool.execute(Query(Self.find, keyParameters(id))))
    }

    /// - Returns: the stored upload.
    func insert(_ upload: Upload) async throws(PostgresError) -> Upload {
        let parameters: [Parameter] = [
            .text(upload.owner), .int(upload.length), .bool(upload.isComplete), .text(upload.concatenation),
            .text(upload.metadata), .text(upload.contentType), .texts(upload.segments.map(\.file)),
            .ints(upload.segments.map(\.size)), lifetime(of: upload),
        ]
        let call = Query(Self.insert, keyParameters(upload.id) + parameters, rowsExpected: 1)
        return try Self.upload(try await pool.execute(call)) ?? upload
    }

    /// Increments the epoch, which fences older requests.
    ///
    /// - Returns: the stored upload; nil if there is none.
    func seize(_ id: String) async throws(PostgresError) -> Upload? {
        try Self.upload(try await pool.execute(Query(Self.seize, keyParameters(id))))
    }

    /// Stores the offset, the files and the length of an upload.
    ///
    /// - Returns: the stored upload; nil if another request has taken it, or it is gone.
    func commit(_ upload: Upload) async throws(PostgresError) -> Upload? {
        let parameters: [Parameter] = [
            .int(upload.epoch), .bool(upload.isHeld), .int(upload.received), .int(upload.length),
            .bool(upload.isComplete), .texts(upload.segments.map(\.file)), .ints(upload.segments.map(\.size)),
            lifetime(of: upload),
        ]
        return try Self.upload(try await pool.execute(Query(Self.commit, keyParameters(upload.id) + parameters)))
    }

    /// Marks an upload as gone. The sweep removes its files.
    func reap(_ id: String) async throws(PostgresError) {
        _ = try await pool.execute(Query(Self.reap, keyParameters(id)))
    }

    /// Marks expired uploads as gone, and deletes the rows of uploads that have been gone for a lifetime.
    func sweep(partition: Int) async throws(PostgresError) {
        let partition = Parameter.int4(Int32(partition))
        _ = try await pool.execute(Query(Self.buryExpired, [partition]))
        _ = try await pool.execute(Query(Self.forget, [partition, .double(Double(lifetime))]))
    }

    /// Returns up to 100 uploads that are gone, with the files to remove.
    func buried(in partition: Int) async throws(PostgresError) -> [(id: String, files: [String])] {
        try await pool.execute(Query(Self.buried, [.int4(Int32(partition))])).map { row throws(PostgresError) in
            (try row.text(0), try row.texts(1))
        }
    }

    /// Clears the file names of an upload that is gone.
    func emptied(_ id: String) async throws(PostgresError) {
        _ = try await pool.execute(Query(Self.emptied, keyParameters(id)))
    }

    /// Returns the files that belong to uploads. The name of a file begins with the id of its upload.
    func inUse(_ files: [String]) async throws(PostgresError) -> Set<String> {
        let ids = Set(files.map { String($0.prefix { $0 != "." }) }).sorted()
        let partitions = ids.map(partition)
        let rows = try await pool.execute(Query(Self.inUse, [.ints(partitions), .texts(ids)]))
        return Set(try rows.map { row throws(PostgresError) in try row.text(0) })
    }

    private static func upload(_ rows: Rows) throws(PostgresError) -> Upload? {
        guard let row = rows.first else { return nil }
        var upload = Upload(id: try row.text(0), owner: try row.text(1))
        upload.epoch = try row.int(2)
        upload.isHeld = try row.bool(3)
        upload.received = try row.int(4)
        upload.length = try row.optionalInt(5)
        upload.isComplete = try row.bool(6)
        upload.concatenation = try row.optionalText(7)
        upload.metadata = try row.optionalText(8)
        upload.contentType = try row.optionalText(9)
        upload.segments = zip(try row.texts(10), try row.ints(11)).map { UploadSegment(file: $0, size: $1) }
        upload.expiresAt = try row.optionalTimestampMilliseconds(12).map { Instant(milliseconds: $0) }
        upload.isGone = try row.bool(13)
        return upload
    }
}
