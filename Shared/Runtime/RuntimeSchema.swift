public import EventLog
public import Logging
public import Postgres

/// A service's own schema: the states of its machine.
public enum RuntimeSchema {
    /// Creates or updates the log and the service's schema, registers its consumer and grants its role.
    ///
    /// - Parameters:
    ///   - connection: a session of the schemas' owner.
    ///   - shards: the number of shards of a new log, where Citus distributes it; nil for two on each worker.
    ///   - version: the version of the machine's stored form. Retention waits until all states have it.
    ///   - more: the service's own migrations, numbered from 2.
    public static func migrate(
        service: String, _ connection: Connection, partitions: Int, shards: Int? = nil, rolePassword: String?,
        roles: LogRoles = .standard, version: Int = 1, more: [Migration] = [], logger: Logger
    ) async throws {
        try await LogSchema.migrate(
            connection, partitions: partitions, shards: shards, roles: roles, logger: logger)
        let migrator = try migrator(service: service, more: more)
        _ = try await migrator.apply(on: connection, logger: logger)
        try await LogDistribution.distribute(
            LogDistribution.tables(of: service), shards: shards, connection, logger: logger)
        try await LogSchema.register(consumer: service, connection)
        try await want(version, of: service, connection)
        try await LogSchema.grant(service: service, password: rolePassword, roles: roles, connection)
        let role = roles.role(of: service)
        try await connection.script(
            """
            GRANT USAGE ON SCHEMA "\(service)" TO \(role);
            GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA "\(service)" TO \(role);
            REVOKE INSERT, UPDATE, DELETE ON "\(service)".migrations FROM \(role);
            """)
    }

    /// Returns the migrator of the service's schema.
    ///
    /// - Parameter more: the service's own migrations, numbered from 2.
    public static func migrator(service: String, more: [Migration] = []) throws(PostgresError) -> Migrator {
        func migration(_ fileName: String, _ sql: [UInt8]) throws(PostgresError) -> Migration {
            let sql = String(decoding: sql, as: UTF8.self)
                .split(separator: "{{service}}", omittingEmptySubsequences: false).joined(separator: service)
            return try Migration(fileName: fileName, sql: sql)
        }
        let states = try migration("0001_states_and_slots.sql", PackageResources._001_states_and_slots_sql)
        return Migrator(schema: service, migrations: [states] + more)
    }

    /// Records the version that the states must reach. If no state is older, all of them have it. The first version is
    /// the form in which states are written, until the services choose another one.
    ///
    /// An older program lowers the version after a final rollback: once no newer process lives, and no state is newer.
    private static func want(_ version: Int, of service: String, _ connection: Connection) async throws {
        // Two statements, because Citus distributes only one of the tables.
        let newestState = Statement("SELECT coalesce(max(newest_state), 0)::int8 FROM bus.cursors WHERE consumer = $1")
        let newestMember = Statement(
            """
            SELECT coalesce(max(machine_version), 0)::int8 FROM bus.members
            WHERE consumer = $1 AND expires > clock_timestamp()
            """)
        let want = Statement(
            """
            INSERT INTO bus.state_versions AS v (partition, service, wanted, reached)
            SELECT p.partition, $1, $2, CASE WHEN EXISTS (
                SELECT FROM "\(service)".states AS s WHERE s.partition = p.partition AND s.machine_version < $2)
                -- Older programs may still write.
                OR EXISTS (SELECT FROM bus.cursors AS c
                    WHERE c.partition = p.partition AND c.consumer = $1 AND c.state_form BETWEEN 1 AND $2 - 1)
                THEN 0 ELSE $2 END
            FROM bus.partitions AS p
            ON CONFLICT (partition, service) DO UPDATE
            SET wanted = CASE WHEN $3 THEN greatest(v.wanted, excluded.wanted) ELSE excluded.wanted END,
                reached = greatest(v.reached, excluded.reached)
            """)
        let form = Statement(
            "UPDATE bus.cursors SET state_form = $2, newest_state = $2 WHERE consumer = $1 AND state_form = 0")
        var newest = 0
        for statement in [newestState, newestMember] {
            newest = max(newest, try await connection.execute(statement, .text(service))[0].decode(Int.self))
        }
        try await connection.execute(want, .text(service), .int4(Int32(version)), .bool(newest > version))
        try await connection.execute(form, .text(service), .int4(Int32(version)))
    }
}
