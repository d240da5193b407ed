import EventLog
import HTTPKit
import Logging
public import Postgres
import Telemetry

/// Connections to another server with the same log, such as a standby, for queries only.
public struct ReadPool: Sendable {
    public let pool: ConnectionPool

    /// Fails for some seconds after a statement failed in the server.
    public var check: HealthCheck {
        HealthCheck("read_database", .reported) { [pool] in
            pool.faults.newest(within: .seconds(5))?.publicDescription
        }
    }
}

extension ServiceBase {
    /// Returns connections for queries to another server, which may be behind or away, and checks that it has the same log.
    ///
    /// - Parameter url: with the role of the service, whose password it gets.
    /// - Throws: ``OtherLog``, or an error of one line with the remedy. A server that is away is no error: queries fail until
    ///   it is back.
    public func readPool(_ url: String) async throws -> ReadPool {
        let options = try ConnectionOptions(
            url: url, password: try configuration.databasePassword.read(), applicationName: "dormouse-\(name)-read",
            settings: placement.sessionSettings, target: .any)
        do {
            let connection = try await Connection.open(options, logger: logger)
            try await LogSchema.verify(connection, partitions: configuration.partitions)
            guard try await LogIncarnation.read(connection) == incarnation else { throw OtherLog() }
            await connection.close()
        } catch let error as PostgresError where error.isAway {
            logger.warning("the database for queries is away, queries fail until it is back", error: error)
        }
        return ReadPool(
            pool: ConnectionPool(
                options, size: configuration.databasePoolSize,
                fault: { [incarnation] connection throws(PostgresError) in
                    try await LogIncarnation.read(connection) == incarnation ? nil : OtherLog().description
                }, logger: logger))
    }
}

/// The database for queries is not a copy of the service's own.
public struct OtherLog: Error, Sendable, CustomStringConvertible {
    public let description =
        "READ_DATABASE_URL (--read-database-url) names a database with another log, or one from before a restore: name a "
        + "standby of the database in DATABASE_URL, and wait until it has replayed the last begin-incarnation"
}
