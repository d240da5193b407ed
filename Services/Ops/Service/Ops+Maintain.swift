import EventLog
import Foundation
import Logging
import Postgres
import ServiceKit
import ServiceLifecycle
import UnixSignals

extension Ops {
    /// Runs the upkeep of the log with the rights of its owner, until SIGTERM or SIGINT: it creates the tables of new days,
    /// takes snapshots, drops days older than `RETENTION_DAYS` and audit rows older than `AUDIT_DAYS`, and erases the
    /// histories of devices on request. It opens no port, so the process that answers requests needs no password of the
    /// owner.
    ///
    /// Any number of processes may run it: one at a time works.
    ///
    /// - Throws: an error of one line with the remedy if there is no database of the owner, or it does not fit.
    func maintain(_ configuration: ServiceConfiguration, logger: Logger) async throws {
        guard let url = configuration.migrationDatabaseURL else {
            throw ConfigurationError(
                "MIGRATION_DATABASE_URL (--migration-database-url) is needed to maintain the log: it names the owner")
        }
        // The time to drop a day grows with its size, so this connection has no timeout.
        let options = try ConnectionOptions(url: url, applicationName: "dormouse-ops-maintain", pipelineTimeout: nil)
        try await ServiceBase.check(options, configuration, migrators: try Self.migrators(), logger: logger)
        let pool = ConnectionPool(options, size: 2, logger: logger)
        let upkeep = LogMaintenance(pool: pool, retentionDays: retentionDays, auditDays: auditDays, logger: logger)
        let erasure = LogErasure(pool: pool, logger: logger)
        FileHandle.standardOutput.write(Data("\(Self.name) maintains the log\n".utf8))
        try await ServiceGroup(
            services: [upkeep, erasure], gracefulShutdownSignals: [.sigterm, .sigint], logger: logger
        ).run()
        await pool.close()
    }
}
