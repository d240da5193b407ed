import EventLog
import Logging
import Postgres

/// The schema `ops`: counts, the current state of devices and apps, and the views for SQL tools.
enum OpsSchema {
    /// The views of the schema. They are documented and stay stable.
    static let views = [
        "events", "devices", "app_states", "wakes", "notifications", "pushes", "transfers", "rates", "audit",
    ]

    static func migrations() throws -> [Migration] {
        [
            try Migration(fileName: "0001_views_and_counts.sql", utf8: PackageResources._001_views_and_counts_sql),
            try Migration(fileName: "0002_device_conditions.sql", utf8: PackageResources._002_device_conditions_sql),
            try Migration(fileName: "0003_audit.sql", utf8: PackageResources._003_audit_sql),
            try Migration(fileName: "0004_counts_of_fleets.sql", utf8: PackageResources._004_counts_of_fleets_sql),
            try Migration(fileName: "0005_refused_pushes.sql", utf8: PackageResources._005_refused_pushes_sql),
            try Migration(fileName: "0006_erasures.sql", utf8: PackageResources._006_erasures_sql),
        ]
    }

    // Citus reads the events of a batch partition by partition: it can't do so in a join with a list of partitions.
    private static let batchByPartition = """
        CREATE OR REPLACE FUNCTION ops.batch(partitions integer[], lows bigint[], highs bigint[])
        RETURNS TABLE (
            partition integer, log_offset bigint, day date, id uuid, source text, type text, key text, app text,
            "time" bigint, data json)
        LANGUAGE plpgsql STABLE SET search_path = pg_catalog AS $$
        #variable_conflict use_column
        DECLARE
            number integer;
            low bigint;
            high bigint;
        BEGIN
            FOR number, low, high IN SELECT s.number, s.low, s.high
                FROM unnest(partitions, lows, highs) AS s (number, low, high) LOOP
                RETURN QUERY SELECT e.partition, e.log_offset, e.day, e.id, e.source, e.type, e.key COLLATE "C",
                    e.app COLLATE "C", e.time, e.data
                FROM bus.events AS e WHERE e.partition = number AND e.log_offset > low AND e.log_offset <= high;
            END LOOP;
        END $$
        """

    /// Returns the migrator, which updates the schema or compares it with this program.
    static func migrator() throws -> Migrator { Migrator(schema: "ops", migrations: try migrations()) }

    /// Creates or updates the schema, and grants rights to the roles. Needs the log and the role of `ops`.
    static func migrate(
        _ connection: Connection, dashboardsPassword: String?, roles: LogRoles = .standard, logger: Logger
    ) async throws {
        _ = try await migrator().apply(on: connection, logger: logger)
        if try await LogDistribution.isDistributed(connection) { try await connection.script(batchByPartition) }
        let (ops, dashboards) = (roles.operators, roles.dashboards)
        try await LogSchema.grant(
            role: dashboards, password: dashboardsPassword,
            """
            ALTER ROLE \(dashboards) SET default_transaction_read_only = on;
            ALTER ROLE \(dashboards) SET statement_timeout = '15s';
            ALTER ROLE \(dashboards) SET idle_in_transaction_session_timeout = '5s';
            ALTER ROLE \(dashboards) SET jit = off;
            ALTER ROLE \(dashboards) CONNECTION LIMIT 20;
            GRANT USAGE ON SCHEMA ops TO \(dashboards), \(ops);
            GRANT SELECT ON \(views.map { "ops.\($0)" }.joined(separator: ", ")) TO \(dashboards);
            GRANT SELECT ON ops.migrations, ops.counts, ops.known_apps, ops.known_devices, ops.known_pushes,
                ops.fleet_devices, ops.blocks, ops.block_groups, ops.block_types, ops.totals TO \(ops);
            GRANT EXECUTE ON FUNCTION ops.count_events(integer, integer), ops.prune_counts(),
                ops.state_digests(text, integer, integer) TO \(ops);
            """, connection)
    }
}
