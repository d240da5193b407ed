import EventLog
import Foundation
import Logging
import Postgres
import ServiceKit

extension Ops {
    /// Begins another incarnation of the log, after a restore or a promotion that lost events. Positions that clients got
    /// before are then refused, running services end, and `transfer` deletes no file until its directory is accepted.
    ///
    /// - Throws: an error of one line with the remedy if there is no database of the owner, or it does not fit.
    func beginIncarnation(_ configuration: ServiceConfiguration, logger: Logger) async throws {
        guard let url = configuration.migrationDatabaseURL else {
            throw ConfigurationError(
                "MIGRATION_DATABASE_URL (--migration-database-url) is needed to begin an incarnation: it names the owner"
            )
        }
        let options = try ConnectionOptions(url: url, applicationName: "dormouse-ops-incarnation")
        let connection = try await Connection.open(options, logger: logger)
        try await LogSchema.verify(connection, partitions: configuration.partitions)
        _ = try await LogSchema.migrator().apply(on: connection, logger: logger)
        let incarnation = try await LogIncarnation.begin(
            "ops begin-incarnation", connection, by: .machineUser, of: Self.name)
        await connection.close()
        FileHandle.standardOutput.write(Data("the log begins incarnation \(incarnation.id)\n".utf8))
    }
}
