import Contracts
import Foundation
import Postgres
import Timeline

// All SQL of this service beside the runtime's.

/// What `Content` needs to know of a file to answer for it.
struct StoredContent: Sendable, Equatable {
    var path: String
    var file: String
    var size: Int
    /// In hexadecimal.
    var sha256: String
    var contentType: String
    var modifiedAt: Instant

    /// Strong: it changes with every byte, and with nothing else.
    var etag: String { "\"\(sha256.prefix(32))\"" }
}

/// The table `transfer.contents`.
struct ContentTable: Sendable {
    let pool: ConnectionPool
    let partitions: Int

    private static let find = Statement(
        """
        SELECT file, size, sha256, content_type, modified_at FROM transfer.contents WHERE partition = $1 AND path = $2
        """)
    private static let put = Statement(
        """
        WITH former AS MATERIALIZED (
            SELECT file FROM transfer.contents WHERE partition = $1 AND path = $2 FOR UPDATE)
        INSERT INTO transfer.contents (partition, path, file, size, sha256, content_type, modified_at)
        -- Counting makes the former row be read, and locked, before it is written: after that it would be skipped.
        SELECT $1::int4, $2::text, $3::text, $4::int8, $5::text, $6::text, $7::int8 FROM (SELECT count(*) FROM former) AS f
        ON CONFLICT ON CONSTRAINT contents_one DO UPDATE SET
            file = EXCLUDED.file, size = EXCLUDED.size, sha256 = EXCLUDED.sha256,
            content_type = EXCLUDED.content_type, modified_at = EXCLUDED.modified_at
        RETURNING (SELECT file FROM former)
        """)

    private func partition(_ path: String) -> Parameter {
        .int4(Int32(AggregateKey("content:" + path).partition(of: partitions)))
    }

    func find(_ path: String) async throws(PostgresError) -> StoredContent? {
        guard let row = try await pool.run(Call(Self.find, [partition(path), .text(path)])).first else { return nil }
        return StoredContent(
            path: path, file: try row.text(0), size: try row.int(1), sha256: try row.text(2),
            contentType: try row.text(3), modifiedAt: Instant(milliseconds: Int64(try row.int(4))))
    }

    /// Makes a path name a file, in one step.
    ///
    /// - Returns: the file that it named before.
    func put(_ content: StoredContent) async throws(PostgresError) -> String? {
        try await pool.run(
            Call(
                Self.put,
                [
                    partition(content.path), .text(content.path), .text(content.file), .int(content.size),
                    .text(content.sha256), .text(content.contentType),
                    .int(Int(content.modifiedAt.milliseconds)),
                ], rowsExpected: 1))[0].optionalText(0)
    }
}

/// The table `transfer.movers`, and the look through all states for attempts that nobody carries out.
struct MoverTable: Sendable {
    /// Seconds after which a mover that was not heard of is dead.
    static let lease = 10.0

    let pool: ConnectionPool

    private static let enrol = Statement(
        """
        INSERT INTO transfer.movers (mover, expires_at) VALUES ($1, now() + $2 * interval '1 second')
        ON CONFLICT ON CONSTRAINT movers_one DO UPDATE SET expires_at = EXCLUDED.expires_at
        """)
    private static let dead = Statement("SELECT mover FROM transfer.movers WHERE expires_at < now()")
    private static let alive = Statement("SELECT mover FROM transfer.movers WHERE expires_at >= now()")
    private static let bury = Statement("DELETE FROM transfer.movers WHERE mover = $1 AND expires_at < now()")
    private static let states = Statement(
        """
        SELECT key, state FROM transfer.states WHERE partition = $1 AND key > $2 ORDER BY key LIMIT $3
        """)

    func enrol(_ mover: UUID, for seconds: Double = MoverTable.lease) async throws(PostgresError) {
        _ = try await pool.run(Call(Self.enrol, [.uuid(mover), .double(seconds)]))
    }

    func dead() async throws(PostgresError) -> [UUID] {
        try await pool.run(Call(Self.dead)).map { row throws(PostgresError) in try row.uuid(0) }
    }

    func alive() async throws(PostgresError) -> Set<UUID> {
        Set(try await pool.run(Call(Self.alive)).map { row throws(PostgresError) in try row.uuid(0) })
    }

    func bury(_ mover: UUID) async throws(PostgresError) { _ = try await pool.run(Call(Self.bury, [.uuid(mover)])) }

    /// A page of the states of a partition, by key.
    func states(
        of partition: Int, after key: String, limit: Int
    ) async throws(PostgresError) -> [(key: String, state: [UInt8])] {
        let call = Call(Self.states, [.int4(Int32(partition)), .text(key), .int(limit)])
        return try await pool.run(call).map { row throws(PostgresError) in (try row.text(0), try row.bytes(1)) }
    }
}
