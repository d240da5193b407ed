import Logging
import Postgres
import Telemetry

extension LogMaintenance {
    static let ensureDays = Statement("SELECT bus.ensure_days($1)")
    private static let services = Statement("SELECT s FROM bus.services() AS s ORDER BY s")
    private static let partitions = Statement("SELECT partition FROM bus.partitions ORDER BY partition")

    // A batch that began before midnight may still append to the old day. No batch lasts for ten minutes: the server
    // ends a transaction that is idle for 5 s.
    private static let unseen = Statement(
        """
        SELECT d.day, p.partition, s.service
        FROM bus.days() AS d, bus.partitions AS p, bus.services() AS s (service)
        WHERE d.is_attached AND NOT d.is_detaching AND (d.day + 1)::timestamptz < now() - interval '10 minutes'
            AND NOT EXISTS (
                SELECT FROM bus.snapshot_days AS t
                WHERE t.partition = p.partition AND t.service = s.service AND t.day = d.day)
        ORDER BY d.day, p.partition, s.service
        """)
    private static let take = Statement("SELECT bus.take_snapshots($1, $2, $3)")
    // The age of a day without events is that of the calendar: no event can be lost.
    private static let overdue = Statement(
        """
        SELECT d.day, d.name, d.is_attached, d.is_detaching
        FROM bus.days() AS d, (SELECT bus.reference_day($1) AS day) AS reference
        WHERE d.day < current_date - $1::integer AND (
            d.day < reference.day - $1::integer
            OR NOT d.is_attached OR d.is_detaching
            OR d.day NOT IN (SELECT u FROM bus.used_days() AS u))
        ORDER BY d.day
        """)
    // The newest day with events, if ages count from another day.
    private static let unsure = Statement(
        """
        SELECT newest.day::text, reference.day::text
        FROM (SELECT max(p.day) AS day FROM bus.partitions AS p) AS newest,
            (SELECT bus.reference_day($1) AS day) AS reference
        WHERE newest.day > reference.day
        """)
    private static let readers = Statement("SELECT r FROM bus.day_readers($1) AS r")
    private static let makeBases = Statement("SELECT bus.make_bases($1, $2, $3)")
    private static let keepEvents = Statement("SELECT bus.keep_events($1, $2)")
    // Kept events whose dead letter an operator has replayed or discarded.
    private static let forgetKept = Statement(
        """
        DELETE FROM bus.kept_events AS k WHERE NOT EXISTS (
            SELECT FROM bus.dead_letters AS d WHERE d.partition = k.partition AND d.log_offset = k.log_offset)
        """)
    private static let auditChunk = 10_000
    private static let forgetAudit = Statement(
        """
        DELETE FROM bus.audit WHERE (at, id) IN (
            SELECT at, id FROM bus.audit WHERE at < now() - interval '1 day' * $1::integer
            ORDER BY at, id LIMIT \(auditChunk))
        """)
    private static let forgetErasures = Statement(
        "DELETE FROM bus.erasures WHERE erased_at < now() - interval '1 day' * $1::integer")
    private static let give = Statement(
        """
        INSERT INTO bus.retention AS r (partition, dropped_to)
        SELECT e.partition, max(e.log_offset) FROM bus.events AS e WHERE e.partition = $1 AND e.day = $2
        GROUP BY e.partition
        ON CONFLICT (partition) DO UPDATE SET dropped_to = greatest(r.dropped_to, excluded.dropped_to)
        """)

    /// The table of one day.
    struct Day: Sendable {
        /// Days since 1970-01-01.
        var number: Int
        var name: String
        var isAttached: Bool
        /// Whether a DETACH CONCURRENTLY of the table was interrupted.
        var isDetaching: Bool
    }

    /// Takes the missing snapshots of past days, one partition at a time to keep transactions short.
    func takeSnapshots(_ connection: Connection) async throws(PostgresError) {
        let unseen = try await connection.execute(Self.unseen).decode((PostgresDate, Int, String).self)
        for (day, partition, service) in unseen {
            try await connection.execute(
                Self.take, .partition(partition), .date(daysSinceEpoch: day.daysSinceEpoch), .text(service))
        }
    }

    /// Deletes kept events without a dead letter.
    func forgetKeptEvents(_ connection: Connection) async throws(PostgresError) {
        try await connection.execute(Self.forgetKept)
    }

    /// Deletes the rows of the audit trail and of finished erasures that are older than some days, in short
    /// transactions.
    func forgetAudit(olderThanDays days: Int, _ connection: Connection) async throws(PostgresError) {
        while try await connection.execute(Self.forgetAudit, .int4(Int32(days))).affected == Self.auditChunk {}
        try await connection.execute(Self.forgetErasures, .int4(Int32(days)))
    }

    /// Returns the days that are older than the retention, oldest first.
    func overdue(_ retentionDays: Int, _ connection: Connection) async throws(PostgresError) -> [Day] {
        let age = Parameter.int4(Int32(retentionDays))
        if let row = try await connection.execute(Self.unsure, age).first {
            let (newest, reference) = try row.decode((String, String).self)
            logger.warning(
                "kept old days, the newest events may have times of a wrong clock",
                metadata: [LogKey.newest: "\(newest)", LogKey.countedFrom: "\(reference)"])
        }
        return try await connection.execute(Self.overdue, age).decode((PostgresDate, String, Bool, Bool).self).map {
            Day(number: $0.daysSinceEpoch, name: $1, isAttached: $2, isDetaching: $3)
        }
    }

    /// Returns the consumers that have not read a whole day.
    func readers(of day: Day, _ connection: Connection) async throws(PostgresError) -> [String] {
        guard day.isAttached, !day.isDetaching else { return [] }
        return try await connection.execute(Self.readers, .date(daysSinceEpoch: day.number)).decode(String.self)
    }

    /// Drops a day that all consumers have read. If the process dies between two steps, the next round continues.
    func drop(_ day: Day, _ connection: Connection) async throws(PostgresError) {
        // The name is safe in SQL: `bus.days()` returns only `events_` and eight digits.
        if day.isDetaching {
            try await connection.script("ALTER TABLE bus.events DETACH PARTITION bus.\(day.name) FINALIZE")
        } else if day.isAttached {
            try await makeBases(of: day, connection)
            // CONCURRENTLY does not block appends. Citus does not have it, so appends wait there for a moment.
            let form = try await LogDistribution.hasCitus(connection) ? "" : " CONCURRENTLY"
            try await connection.script("ALTER TABLE bus.events DETACH PARTITION bus.\(day.name)\(form)")
        }
        try await connection.script("DROP TABLE bus.\(day.name)")
    }

    /// Marks a base snapshot for every history that loses events, and records `dropped_to` before the events are
    /// dropped.
    private func makeBases(of day: Day, _ connection: Connection) async throws(PostgresError) {
        let date = Parameter.date(daysSinceEpoch: day.number)
        let services = try await connection.execute(Self.services).decode(String.self)
        for partition in try await connection.execute(Self.partitions).decode(Int.self) {
            let partitionParameter = Parameter.partition(partition)
            let bases = services.map { Query(Self.makeBases, [partitionParameter, date, .text($0)]) }
            _ = try await connection.execute(
                [Query(Statement("BEGIN")), Query(Self.keepEvents, [partitionParameter, date])] + bases
                    + [Query(Self.give, [partitionParameter, date]), Query(.commit)])
        }
    }
}
