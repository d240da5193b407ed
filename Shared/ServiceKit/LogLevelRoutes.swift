import EventLog
import HTTPKit
import HTTPTypes
import Identity
import Logging
import Postgres
import Records
import Telemetry

/// A level of log lines, from the least to the most severe one.
enum LogLevel: String, WireEnum { case trace, debug, info, notice, warning, error, critical }

/// The log level of a process.
struct LogLevelDocument: Record {
    /// The least severe level that is logged.
    var level: LogLevel
}

extension RouteTable {
    /// Adds `/v1/log-level`: the log level of this process, which changes without a restart.
    ///
    /// - Parameter record: adds an entry to the audit trail.
    mutating func addLogLevel(
        _ threshold: LogThreshold, logger: Logger, record: @escaping @Sendable (AuditEntry) async throws -> Void
    ) {
        let path = "/v1/log-level"
        add(.get, path, "Returns the log level of this process", .scope(.read)) { _ in
            Reply(LogLevelDocument(threshold.level))
        }
        add(
            .put, path, "Sets the log level of this process until its end", body: LogLevelDocument.self,
            .scope(.operate)
        ) { wanted, call in
            let level = Logger.Level(rawValue: wanted.level.rawValue) ?? .info
            let former = threshold.set(level)
            let entry = try call.audit(
                .logLevelSet, of: "logLevel",
                details: ["former": .string(former.rawValue), "level": .string(level.rawValue)])
            // People want more log lines above all while the database fails, so the change does not wait for it.
            do { try await record(entry) } catch {
                logger.warning("failed to add a change of the log level to the audit trail", error: error)
            }
            return Reply(LogLevelDocument(level))
        }
    }
}

extension LogLevelDocument {
    fileprivate init(_ level: Logger.Level) { self.init(level: LogLevel(rawValue: level.rawValue) ?? .info) }
}
