import Contracts
import EventLog
import Foundation
import Postgres
import Timeline

// The table `transfer.uploads`. Its times are real time by the database's clock.
extension TransferStore {
    private static let columns = """
        id, owner, fleet, epoch, is_held, received, length, is_complete, concatenation, metadata, content_type, files, sizes,
        expires_at, is_deleted OR coalesce(expires_at <= now(), false)
        """
    private static let find = Statement(
        "SELECT \(columns) FROM transfer.uploads WHERE partition = $1 AND id = $2")
    private static let insert = Statement(
        """
        INSERT INTO transfer.uploads (
            partition, id, owner, fleet, epoch, is_held, received, length, is_complete, concatenation, metadata, content_type,
            files, sizes, expires_at, is_deleted)
        VALUES ($1, $2, $3, $4, 1, false, 0, $5, $6, $7, $8, $9, $10, $11, now() + $12 * interval '1 second', false)
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
            AND epoch = $3 AND NOT is_deleted AND received <= $5
        RETURNING \(columns)
        """)
    private static let reap = Statement(
        """
        UPDATE transfer.uploads SET epoch = epoch + 1, is_deleted = true, expires_at = now()
        WHERE partition = $1 AND id = $2 AND NOT is_deleted
        """)
    private static let buryExpired = Statement(
        """
        UPDATE transfer.uploads SET epoch = epoch + 1, is_deleted = true
        WHERE partition = $1 AND NOT is_deleted AND expires_at <= now()
        """)
    private static let buried = Statement(
        """
        SELECT id, files, is_erased FROM transfer.uploads
        WHERE partition = $1 AND is_deleted AND expires_at <= now() AND cardinality(files) > 0 LIMIT 100
        """)
    private static let emptied = Statement(
        "UPDATE transfer.uploads SET files = '{}', sizes = '{}' WHERE partition = $1 AND id = $2 AND is_deleted")
    private static let forget = Statement(
        """
        DELETE FROM transfer.uploads
        WHERE partition = $1 AND is_deleted AND expires_at <= now() - $2 * interval '1 second' AND cardinality(files) = 0
        """)

    private static let inUse = Statement(
        """
        SELECT unnest(upload.files) FROM unnest($1::bigint[], $2::text[]) AS asked (partition, id)
        JOIN transfer.uploads AS upload ON upload.partition = asked.partition AND upload.id = asked.id
        """)

    private static let use = Statement(
        """
        SELECT coalesce(sum(coalesce(u.length, u.received)), 0)::int8, count(*),
            coalesce((SELECT b.bytes FROM transfer.upload_bytes AS b WHERE b.fleet = $2), 0)
        FROM transfer.uploads AS u WHERE u.owner = $1 AND NOT u.is_deleted
        """)

    /// Locks what an owner's uploads may have, until the end of the transaction.
    private static let lockOwner = Statement(
        "SELECT pg_advisory_xact_lock(hashtextextended('transfer.uploads ' || $1, 0))")
    private static let setLength = Statement(
        """
        UPDATE transfer.uploads SET length = $4
        WHERE partition = $1 AND id = $2 AND epoch = $3 AND NOT is_deleted RETURNING \(columns)
        """)

    /// The sizes of all uploads of an owner and of its fleet. An upload without a length counts with its received bytes.
    private struct Use {
        let bytes: Int
        let uploads: Int
        let fleet: Int

        init(_ rows: Rows) throws(PostgresError) { (bytes, uploads, fleet) = try rows[0].decode((Int, Int, Int).self) }

        /// Returns the bytes that the owner may still store.
        func room(within quota: UploadLimits.Quota) -> Int { max(0, min(quota.bytes - bytes, quota.fleet - fleet)) }
    }

    /// Returns the bytes that the owner of an upload may still store.
    func room(for upload: Upload, within quota: UploadLimits.Quota) async throws(PostgresError) -> Int {
        try Use(await pool.execute([use(of: upload)])[0]).room(within: quota)
    }

    /// Stores a new upload, if it fits into the quotas of its owner and its fleet. Calls for one fleet take turns.
    ///
    /// - Parameters:
    ///   - lifetime: the seconds until an incomplete upload expires.
    ///   - addsBytes: whether its bytes are not yet stored. If they are, the quotas need room, but not for all of them.
    /// - Returns: the stored upload; nil if it does not fit.
    func insert(
        _ upload: Upload, lifetime: Int, within quota: UploadLimits.Quota, addsBytes: Bool
    ) async throws -> Upload? {
        try await pool.transaction { connection in
            let use = try await use(of: upload, lockedBy: connection)
            let room = use.room(within: quota)
            guard use.uploads < quota.uploads, room > 0, !addsBytes || upload.length ?? 0 <= room else { return nil }
            return try await connection.execute(inserting(upload, lifetime)).first.map(Upload.init)
        }
    }

    /// Stores the length of an upload whose length was unknown, if it fits into the quotas of its owner and its fleet.
    ///
    /// - Returns: whether it fits, and the stored upload; nil if another request has taken it.
    func set(
        _ length: Int, of upload: Upload, within quota: UploadLimits.Quota
    ) async throws -> (fits: Bool, stored: Upload?) {
        try await pool.transaction { connection in
            let room = try await use(of: upload, lockedBy: connection).room(within: quota)
            guard length <= upload.received + room else { return (false, nil) }
            let change = Query(Self.setLength, parameters(upload.id) + [.int(upload.epoch), .int(length)])
            return (true, try await connection.execute(change).first.map(Upload.init))
        }
    }

    private func use(of upload: Upload) -> Query { Query(Self.use, [.text(upload.owner), .text(upload.fleet)]) }

    private func use(of upload: Upload, lockedBy connection: Connection) async throws -> Use {
        // The owner of a fleet's own uploads is the fleet.
        let owners = [upload.owner] + (upload.fleet.map { ["fleet:" + $0] } ?? []).filter { $0 != upload.owner }
        let locks = owners.map { Query(Self.lockOwner, .text($0)) }
        return try Use(try await connection.execute(locks + [use(of: upload)])[owners.count])
    }

    private func parameters(_ id: String) -> [Parameter] { [.partition(partition(ofUpload: id)), .text(id)] }

    private func partition(ofUpload id: String) -> Int { AggregateKey("upload:" + id).partition(of: partitions) }

    func upload(_ id: String) async throws(PostgresError) -> Upload? {
        try await pool.execute(Self.find, parameters(id)).first.map(Upload.init)
    }

    /// - Parameter lifetime: the seconds until an incomplete upload expires.
    /// - Returns: the stored upload.
    func insert(_ upload: Upload, lifetime: Int) async throws(PostgresError) -> Upload {
        try Upload(await pool.execute([inserting(upload, lifetime)])[0][0])
    }

    private func inserting(_ upload: Upload, _ lifetime: Int) -> Query {
        let columns: [Parameter] = [
            .text(upload.owner), .text(upload.fleet), .int(upload.length), .bool(upload.isComplete),
            .text(upload.concatenation), .text(upload.metadata), .text(upload.contentType),
            .texts(upload.segments.map(\.file)), .ints(upload.segments.map(\.size)), upload.expiry(after: lifetime),
        ]
        return Query(Self.insert, parameters(upload.id) + columns)
    }

    /// Increments the epoch, which fences older requests.
    ///
    /// - Returns: the stored upload; nil if there is none.
    func seize(_ id: String) async throws(PostgresError) -> Upload? {
        try await pool.execute(Self.seize, parameters(id)).first.map(Upload.init)
    }

    /// Stores the offset, the files and the length of an upload.
    ///
    /// - Parameter lifetime: the seconds until an incomplete upload expires.
    /// - Returns: the stored upload; nil if another request has taken it, or it is gone.
    func commit(_ upload: Upload, lifetime: Int) async throws(PostgresError) -> Upload? {
        try await pool.execute([committing(upload, lifetime)])[0].first.map(Upload.init)
    }

    /// Does the same for an upload without a length, if its new bytes fit into the quotas of its owner and its fleet.
    ///
    /// - Parameter bytes: the number of new bytes.
    /// - Returns: whether they fit, and the stored upload; nil if another request has taken it, or it is gone.
    func commit(
        _ upload: Upload, adding bytes: Int, lifetime: Int, within quota: UploadLimits.Quota
    ) async throws -> (fits: Bool, stored: Upload?) {
        try await pool.transaction { connection in
            guard bytes <= (try await use(of: upload, lockedBy: connection).room(within: quota)) else {
                return (false, nil)
            }
            return (true, try await connection.execute(committing(upload, lifetime)).first.map(Upload.init))
        }
    }

    private func committing(_ upload: Upload, _ lifetime: Int) -> Query {
        let columns: [Parameter] = [
            .int(upload.epoch), .bool(upload.isHeld), .int(upload.received), .int(upload.length),
            .bool(upload.isComplete), .texts(upload.segments.map(\.file)), .ints(upload.segments.map(\.size)),
            upload.expiry(after: lifetime),
        ]
        return Query(Self.commit, parameters(upload.id) + columns)
    }

    /// Marks an upload as gone. The sweep removes its files.
    ///
    /// - Parameter audit: the entry of the audit trail; added if the upload existed.
    func reapUpload(_ id: String, _ audit: AuditEntry? = nil) async throws {
        let reap = Query(Self.reap, parameters(id))
        guard let audit else { return _ = try await pool.execute(reap) }
        try await pool.transaction { connection in
            guard try await connection.execute(reap).affected > 0 else { return }
            _ = try await connection.execute(audit.query)
        }
    }

    /// Marks expired uploads as gone, and deletes the rows of uploads that have been gone for a lifetime.
    func sweepUploads(of partition: Int, lifetime: Int) async throws(PostgresError) {
        try await pool.execute(Self.buryExpired, .partition(partition))
        try await pool.execute(Self.forget, .partition(partition), .double(Double(lifetime)))
    }

    /// Returns up to 100 uploads that are gone, with the files to remove.
    func buriedUploads(
        of partition: Int
    ) async throws(PostgresError) -> [(id: String, files: [String], isErased: Bool)] {
        try await pool.execute(Self.buried, .partition(partition)).decode((String, [String], Bool).self)
            .map { ($0, $1, $2) }
    }

    /// Clears the file names of an upload that is gone.
    func emptied(_ id: String) async throws(PostgresError) {
        try await pool.execute(Self.emptied, parameters(id))
    }

    /// Returns the files that belong to uploads. The name of a file begins with the id of its upload.
    func filesOfUploads(among files: [String]) async throws(PostgresError) -> Set<String> {
        let ids = Set(files.map { String($0.prefix { $0 != "." }) }).sorted()
        let partitions = ids.map(partition(ofUpload:))
        return Set(try await pool.execute(Self.inUse, .ints(partitions), .texts(ids)).decode(String.self))
    }
}

// The table `transfer.erased_files`.
extension TransferStore {
    private static let erased = Statement("SELECT name FROM transfer.erased_files")
    private static let forgetErased = Statement(
        "DELETE FROM transfer.erased_files WHERE partition = $1 AND erased_at < now() - interval '1 hour'")

    /// Returns the files of devices whose history was erased in the last hour: their names, or the begins of the names.
    func erasedFiles() async throws(PostgresError) -> Set<String> {
        Set(try await pool.execute(Self.erased).decode(String.self))
    }

    /// Forgets the files of devices whose history was erased an hour ago.
    func forgetErasedFiles() async throws(PostgresError) {
        for partition in 0..<partitions { try await pool.execute(Self.forgetErased, .partition(partition)) }
    }
}

extension Upload {
    fileprivate init(_ row: Row) throws(PostgresError) {
        let (id, owner, fleet, epoch, isHeld, received, length, isComplete) = try row.decode(
            (String, String, String?, Int, Bool, Int, Int?, Bool).self, at: 0)
        let (concatenation, metadata, contentType, files, sizes, expiresAt, isGone) = try row.decode(
            (String?, String?, String?, [String], [Int], Instant?, Bool).self, at: 8)
        self.init(id: id, owner: owner, fleet: fleet)
        (self.epoch, self.isHeld, self.received, self.length) = (epoch, isHeld, received, length)
        (self.isComplete, self.concatenation, self.metadata) = (isComplete, concatenation, metadata)
        (self.contentType, self.expiresAt, self.isGone) = (contentType, expiresAt, isGone)
        segments = zip(files, sizes).map { UploadSegment(file: $0, size: $1) }
    }

    /// Returns null for an upload that does not expire: in SQL, `now()` plus null is null.
    fileprivate func expiry(after lifetime: Int) -> Parameter { .double(mayExpire ? Double(lifetime) : nil) }
}
