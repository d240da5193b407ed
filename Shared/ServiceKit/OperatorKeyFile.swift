import EventLog
import Foundation
import Identity
import Logging
import Records
import ServiceLifecycle
import Synchronization
import Telemetry
import Timeline

/// The operators' keys of `OPERATOR_KEY_FILE`. It reads the file again every 5 s, so keys come and go without a restart.
///
/// Each change leaves a row in the audit trail. The keys change at once, and the row follows when the database answers.
final class OperatorKeyFile: Service {
    /// The most names of a kind in a row.
    private static let mostNames = 50
    /// The most rows that wait for the database.
    private static let mostEntries = 100

    /// The keys for the authentication of requests.
    let keyring: OperatorKeyring
    private let configuration: ServiceConfiguration
    private let interval: Duration
    private let logger: Logger
    /// The keys of the last reading, or its fault.
    private let last: Mutex<Result<OperatorKeys, ConfigurationError>>
    /// The rows that are not written yet.
    private let entries = Mutex<[AuditEntry]>([])
    private let record: @Sendable (AuditEntry) async throws -> Void

    /// Reads the file.
    ///
    /// - Parameters:
    ///   - clock: the real time, in which keys expire.
    ///   - record: adds a row to the audit trail.
    /// - Throws: an error of one line if the file can't be read or has an invalid line.
    init(
        _ configuration: ServiceConfiguration, interval: Duration = .seconds(5), clock: any SuiteClock = RealClock(),
        logger: Logger, record: @escaping @Sendable (AuditEntry) async throws -> Void
    ) throws(ConfigurationError) {
        self.configuration = configuration
        self.interval = interval
        self.logger = logger
        self.record = record
        let keys = try configuration.operatorKeys()
        keyring = OperatorKeyring(keys, clock: clock)
        last = Mutex(.success(keys))
    }

    /// Reads the file again. With an invalid file the previous keys stay valid, and one log line says so.
    func reload() {
        let reading = Result { () throws(ConfigurationError) in try configuration.operatorKeys() }
        let isNew = last.withLock { last in
            defer { last = reading }
            return last != reading
        }
        guard isNew else { return }
        switch reading {
        case .success(let keys):
            let changes = keyring.replace(with: keys)
            logger.info("reloaded operator keys")
            // A file that is valid again may have the same keys as before.
            guard !changes.isEmpty else { break }
            entries.withLock { if $0.count < Self.mostEntries { $0.append(Self.entry(changes)) } }
        case .failure(let error):
            logger.error(
                "failed to reload operator keys, still using the previous ones",
                metadata: [LogKey.error: .string(error.description)])
        }
    }

    /// Why the keys of the file are not in use; nil if they are.
    var fault: String? {
        last.withLock { last in
            if case .failure(let error) = last { "\(error.description); the previous keys stay valid" } else { nil }
        }
    }

    /// Writes the rows of earlier changes. After a failure, the next call continues.
    func writeEntries() async {
        while let entry = entries.withLock({ $0.first }) {
            do { try await record(entry) } catch {
                logger.warning("failed to write a change of operator keys, will retry", error: error)
                return
            }
            entries.withLock { _ = $0.removeFirst() }
        }
    }

    private static func entry(_ changes: OperatorKeys.Changes) -> AuditEntry {
        let lists = [("added", changes.added), ("changed", changes.changed), ("removed", changes.removed)]
        return AuditEntry(
            .operatorKeysReloaded, by: AuditActor(.commandLine), of: "operatorKeys",
            details: .object(
                lists.filter { !$0.1.isEmpty }.map { name, names in
                    .init(name, .array(names.prefix(mostNames).map(JSON.string)))
                }))
    }

    /// Runs until graceful shutdown or cancellation.
    func run() async throws {
        await cancelWhenGracefulShutdown {
            while (try? await Task.sleep(for: self.interval)) != nil {
                self.reload()
                self.keyring.endExpired()
                await self.writeEntries()
            }
        }
        // A cancelled task can't send a query.
        await Task { await writeEntries() }.value
    }
}
