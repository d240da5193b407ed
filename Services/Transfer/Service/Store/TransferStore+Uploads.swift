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

    private static let bytes = Statement(
        """
        SELECT coalesce(sum(coalesce(length, received)), 0)::int8, count(*) FROM transfer.uploads
        WHERE owner = $1 AND NOT is_deleted
        """)

    private static let bytesOfFleets = Statement(
        """
        SELECT fleet, sum(coalesce(length, received))::int8 FROM transfer.uploads
        WHERE NOT is_deleted AND fleet IS NOT NULL GROUP BY fleet
        """)

    /// Locks what an owner's uploads may have, until the end of the transaction.
    private static let lockOwner = Statement(
        "SELECT pg_advisory_xact_lock(hashtextextended('transfer.uploads ' || $1, 0))")
    private static let setLength = Statement(
        """
        UPDATE transfer.uploads SET length = $4
        WHERE partition = $1 AND id = $2 AND epoch = $3 AND NOT is_deleted RETURNING \(columns)
        """)

    /// Returns the bytes of all uploads of an owner: their lengths, or the received bytes before they are known.
    func bytesOfUploads(of owner: String) async throws(PostgresError) -> Int {
        try Self.use(await pool.execute(Self.bytes, .text(owner))).bytes
    }

    /// Returns the bytes of all uploads of each fleet.
    func bytesOfUploadsOfFleets() async throws(PostgresError) -> [String: Int] {
        let rows = try await pool.execute(Self.bytesOfFleets).decode((String, Int).self)
        return Dictionary(uniqueKeysWithValues: rows)
    }

    /// Stores a new upload, if it fits into the quota of its owner with all other uploads. Calls for one owner take turns.
    ///
    /// - Parameter lifetime: the seconds until an incomplete upload expires.
    /// - Returns: the stored upload; nil if it does not fit.
    func insert(_ upload: Upload, lifetime: Int, within quota: UploadLimits.Quota) async throws -> Upload? {
        try await pool.transaction { connection in
            let (used, count) = try await uploads(of: upload.owner, lockedBy: connection)
            let bytes = upload.length ?? 0
            guard count < quota.uploads, used < quota.bytes, bytes <= quota.bytes - used else { return nil }
            return try await connection.execute(inserting(upload, lifetime)).first.map(Upload.init)
        }
    }

    /// Stores the length of an upload whose length was unknown, if it fits into the quota of its owner.
    ///
    /// - Returns: whether it fits, and the stored upload; nil if another request has taken it.
    func set(_ length: Int, of upload: Upload, within quota: Int) async throws -> (fits: Bool, stored: Upload?) {
        try await pool.transaction { connection in
            // The sum includes the received bytes of this upload.
            let used = try await uploads(of: upload.owner, lockedBy: connection).bytes - upload.received
            guard length <= quota - used else { return (false, nil) }
            let change = Query(Self.setLength, parameters(upload.id) + [.int(upload.epoch), .int(length)])
            return (true, try await connection.execute(change).first.map(Upload.init))
        }
    }

    private func uploads(of owner: String, lockedBy connection: Connection) async throws -> (bytes: Int, count: Int) {
        let rows = try await connection.execute([
            Query(Self.lockOwner, .text(owner)), Query(Self.bytes, .text(owner)),
        ])
        return try Self.use(rows[1])
    }

    private static func use(_ rows: Rows) throws(PostgresError) -> (bytes: Int, count: Int) {
        try rows[0].decode((Int, Int).self)
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
        let columns: [Parameter] = [
            .int(upload.epoch), .bool(upload.isHeld), .int(upload.received), .int(upload.length),
            .bool(upload.isComplete), .texts(upload.segments.map(\.file)), .ints(upload.segments.map(\.size)),
            upload.expiry(after: lifetime),
        ]
        return try await pool.execute(Self.commit, parameters(upload.id) + columns).first.map(Upload.init)
    }

    /// Marks an upload as gone. The sweep removes its files.
    ///
    /// - Parameter audit: the entry of the audit trail; added if the upload existed.
    /// - Returns: whether it existed.
    func reapUpload(_ id: String, _ audit: AuditEntry? = nil) async throws -> Bool {
        let reap = Query(Self.reap, parameters(id))
        guard let audit else { return try await pool.execute(reap).affected > 0 }
        return try await pool.transaction { connection in
            guard try await connection.execute(reap).affected > 0 else { return false }
            _ = try await connection.execute(audit.query)
            return true
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
