public import Logging
public import Postgres
import Telemetry

/// Distributes the log over the workers of Citus, where the database has the extension `citus`.
///
/// All tables that a batch uses are distributed by `partition` and co-located: the rows of a partition are on one node. All
/// other tables stay on the coordinator.
public enum LogDistribution {
    /// The oldest version of Citus that routes all statements of a batch.
    static let oldestVersion = 13
    /// The number of shards of a worker by default. More shards cost more. Only partitions of one shard share a transaction.
    /// A read of all partitions goes to each shard. Citus plans an INSERT with a SELECT once for each shard.
    static let shardsOfWorker = 2
    /// The tables of the log that are distributed. The first one decides the shards of all others.
    ///
    /// `bus.readers` is not among them: `ops` counts all partitions in one transaction, and its counts are on the
    /// coordinator.
    public static let tables = [
        "partitions", "events", "kept_events", "cursors", "dead_letters", "input_attempts", "idempotency",
        "state_versions", "retention", "snapshots", "snapshot_days", "revocations", "revocation_positions", "erasures",
    ].map { "bus.\($0)" }

    /// Returns the distributed tables of a service's schema.
    public static func tables(of service: String) -> [String] {
        ["\"\(service)\".states", "\"\(service)\".slot_pages"]
    }

    // MARK: The check

    private static let extensionVersion = Statement("SELECT extversion FROM pg_extension WHERE extname = 'citus'")
    // The node is the coordinator; the number of workers that take shards; the tables that are not distributed as those of
    // a log are.
    private static let cluster = Statement(
        """
        SELECT (SELECT groupid = 0 FROM pg_dist_local_group),
            (SELECT count(*) FROM pg_dist_node WHERE noderole = 'primary' AND isactive AND shouldhaveshards),
            (SELECT coalesce(string_agg(t, ', ' ORDER BY n), '') FROM unnest($1::text[]) WITH ORDINALITY AS a (t, n)
                WHERE NOT EXISTS (
                    SELECT FROM pg_dist_partition AS d, pg_dist_partition AS p
                    WHERE d.logicalrelid = to_regclass(t) AND d.partmethod = 'h'
                        AND column_to_column_name(d.logicalrelid, d.partkey) = 'partition'
                        AND p.logicalrelid = to_regclass('bus.partitions') AND d.colocationid = p.colocationid))
        """)

    /// Returns whether Citus distributes the log, and the tables of a service.
    ///
    /// - Throws: ``CitusError`` if Citus is there, but can't be used.
    public static func isDistributed(_ connection: Connection, service: String? = nil) async throws -> Bool {
        let tables = tables + (service.map(tables(of:)) ?? [])
        guard let missing = try await missing(tables, connection) else { return false }
        guard missing.isEmpty else { throw CitusError.notDistributed(tables: missing) }
        return true
    }

    /// Returns whether the database has Citus.
    static func hasCitus(_ connection: Connection) async throws(PostgresError) -> Bool {
        try await !connection.execute(extensionVersion).isEmpty
    }

    /// Checks that the database has no Citus, or one that can be used.
    ///
    /// - Throws: ``CitusError``, or a `PostgresError`.
    static func check(_ connection: Connection) async throws { _ = try await missing([], connection) }

    /// Returns the tables that are not distributed; nil without Citus.
    private static func missing(_ tables: [String], _ connection: Connection) async throws -> String? {
        try await state(tables, connection)?.missing
    }

    /// Returns the tables that are not distributed, and the number of workers that take shards; nil without Citus.
    private static func state(
        _ tables: [String], _ connection: Connection
    ) async throws -> (missing: String, workers: Int)? {
        guard let row = try await connection.execute(extensionVersion).first else { return nil }
        let version = try row.decode(String.self)
        guard Int(version.prefix { $0.isNumber }) ?? 0 >= oldestVersion else { throw CitusError.tooOld(version) }
        let (isCoordinator, nodes, missing) = try await connection.execute(cluster, .texts(tables))[0]
            .decode((Bool, Int, String).self)
        guard isCoordinator else { throw CitusError.worker }
        guard nodes > 0 else { throw CitusError.noWorkers }
        return (missing, nodes)
    }

    // MARK: The migration

    /// Distributes tables that are not distributed yet. Their rows move to the shards. Does nothing without Citus.
    ///
    /// - Parameters:
    ///   - tables: of the log or of a service. Those of the log come first.
    ///   - shards: the number of shards of a new log; nil for two on each worker.
    /// - Throws: ``CitusError`` if Citus is there, but can't be used, or a `PostgresError`.
    public static func distribute(
        _ tables: [String] = tables, shards: Int?, _ connection: Connection, logger: Logger
    ) async throws {
        for table in tables {
            guard let (missing, workers) = try await state([table], connection) else { return }
            guard !missing.isEmpty else { continue }
            let isFirst = table == Self.tables[0]
            try await connection.script(
                """
                SET client_min_messages = warning; SET citus.shard_count = \(shards ?? shardsOfWorker * workers);
                SELECT create_distributed_table('\(table)', 'partition',
                    colocate_with => '\(isFirst ? "none" : Self.tables[0])');
                RESET citus.shard_count; RESET client_min_messages
                """)
            logger.info("distributed table", metadata: [LogKey.name: "\(table)"])
        }
        try await dropLocalRows(of: tables, connection, logger: logger)
    }

    // Citus keeps the rows of a distributed table on the coordinator too, where no statement reads or erases them.
    private static let withLocalRows = Statement(
        """
        SELECT p.relid::regclass::text FROM unnest($1::text[]) AS t (name),
            LATERAL (SELECT relid FROM pg_partition_tree(to_regclass(t.name)) WHERE isleaf
                UNION SELECT to_regclass(t.name)) AS p
        WHERE EXISTS (SELECT FROM pg_dist_partition WHERE logicalrelid = p.relid) AND pg_relation_size(p.relid) > 0
        """)

    /// Removes the rows of distributed tables that are still on the coordinator. A killed migration may have left some.
    private static func dropLocalRows(of tables: [String], _ connection: Connection, logger: Logger) async throws {
        guard try await hasCitus(connection) else { return }
        for table in try await connection.execute(withLocalRows, .texts(tables)).decode(String.self) {
            try await connection.script(
                """
                SET client_min_messages = warning;
                SELECT truncate_local_data_after_distributing_table('\(table)');
                RESET client_min_messages
                """)
            logger.info("removed local rows of distributed table", metadata: [LogKey.name: "\(table)"])
        }
    }

    /// Returns the list of columns of a grant in parentheses. On Citus it is empty, because Citus grants whole tables.
    static func columns(_ columns: String, isDistributed: Bool) -> String { isDistributed ? "" : "(\(columns))" }

    /// Returns a grant on columns of a table that stays on the coordinator.
    static func onCoordinator(_ grant: String, isDistributed: Bool) -> String {
        guard isDistributed else { return grant }
        return "SET citus.enable_ddl_propagation = off; \(grant) RESET citus.enable_ddl_propagation;"
    }
}

/// The reason why a database with Citus can't be used, and what to do about it.
public enum CitusError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The extension is too old.
    case tooOld(String)
    /// The connection goes to a worker.
    case worker
    /// No worker takes shards.
    case noWorkers
    /// These tables are not distributed.
    case notDistributed(tables: String)

    public var description: String {
        switch self {
        case .tooOld(let version):
            "the database has version \(version) of Citus, which can't route the statements of a batch: install version "
                + "\(LogDistribution.oldestVersion) or newer on all nodes, then run ALTER EXTENSION citus UPDATE"
        case .worker:
            "the database is on a worker of Citus: name the coordinator in DATABASE_URL and MIGRATION_DATABASE_URL"
        case .noWorkers:
            "the coordinator of Citus has no workers: run SELECT citus_add_node('host', 5432) for each of them, then the "
                + "services' `migrate` commands"
        case .notDistributed(let tables):
            "the database has the extension citus, but these tables are not distributed: \(tables); run the service's "
                + "`migrate` command"
        }
    }
}
