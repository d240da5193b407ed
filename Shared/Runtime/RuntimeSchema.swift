import EventLog
public import Logging
public import Postgres

/// A service's own part of the database: the states of its machine, in the schema of its name.
public enum RuntimeSchema {
    /// Creates or updates the log and the service's schema, registers its consumer and grants its role.
    ///
    /// - Parameters:
    ///   - connection: as the schemas' owner.
    ///   - more: tables of the service's own, numbered from 2 on.
    public static func migrate(
        service: String, _ connection: Connection, partitions: Int, rolePassword: String?,
        more: [Migration] = [], logger: Logger
    ) async throws {
        try await LogSchema.migrate(connection, partitions: partitions, logger: logger)
        let sql = String(decoding: PackageResources._001_states_sql, as: UTF8.self)
            .split(separator: "{{service}}", omittingEmptySubsequences: false).joined(separator: service)
        let migrator = Migrator(
            schema: service, migrations: [try Migration(fileName: "0001_states.sql", sql: sql)] + more)
        _ = try await migrator.apply(on: connection, logger: logger)
        try await LogSchema.register(consumer: service, connection)
        try await LogSchema.grant(service: service, password: rolePassword, connection)
        try await connection.script(
            """
            GRANT USAGE ON SCHEMA "\(service)" TO dormouse_\(service);
            GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA "\(service)" TO dormouse_\(service);
            """)
    }
}
