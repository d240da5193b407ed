import EventLog
import Foundation
import Logging
import Postgres
import Records
import ServiceKit

extension Transfer {
    /// Notes in `DATA_DIRECTORY` that it belongs to the database, so that sweeps resume.
    ///
    /// - Throws: an error of one line with the remedy if the directory or the database is not available.
    func acceptDirectory(_ configuration: ServiceConfiguration, logger: Logger) async throws {
        let storage = try storage()
        let connection = try await Connection.open(
            try ServiceBase.options(Self.name, configuration, [:]), logger: logger)
        try await LogSchema.verify(connection, partitions: configuration.partitions)
        let mark = StorageMark(
            incarnation: try await LogIncarnation.read(connection).id,
            events: try await LogIncarnation.eventCount(connection))
        // The row comes first, so that no directory is accepted without one.
        let entry = AuditEntry(
            .directoryAccepted, by: .machineUser, of: "directory", details: ["incarnation": .string(mark.incarnation)])
        let isOwner = try await connection.execute(Query(Self.isOwner, rowsExpected: 1))[0].decode(Bool.self)
        _ = try await connection.execute(isOwner ? entry.query(of: Self.name) : entry.query)
        await connection.close()
        try await storage.write(mark)
        let words = "DATA_DIRECTORY belongs to this database. Running processes sweep it again within an hour.\n"
        FileHandle.standardOutput.write(Data(words.utf8))
    }

    /// After a restore, the command runs with the role that owns the log. It alone can name a service in the audit trail.
    private static let isOwner = Statement("SELECT has_column_privilege('bus.audit', 'service', 'INSERT')")

    /// Opens `DATA_DIRECTORY`.
    func storage() throws(ConfigurationError) -> DirectoryStorage {
        do { return try DirectoryStorage(directory, storageLimits) } catch {
            throw ConfigurationError("\(Setting.label("DATA_DIRECTORY")) can't be written to")
        }
    }
}
