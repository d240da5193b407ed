import EventLog
import Foundation
import Identity
import Logging
import Postgres
import ServiceKit

// The commands for the keys that sign the tokens of devices and fleets.
extension Lifecycle {
    /// Adds a key. Running services use it at once, and accept the tokens of the earlier keys.
    func rotateKey(_ configuration: ServiceConfiguration, logger: Logger) async throws {
        let id = try await withPool(configuration, logger) {
            try await TokenIssuer.rotate($0, issuer: Self.name, audit: AuditEntry(.signingKeyRotated, by: .machineUser))
        }
        say("signs with the key \(id) within 2 s")
    }

    /// Deletes all keys but the newest. Running services refuse the tokens of the deleted keys.
    func voidKeys(_ configuration: ServiceConfiguration, logger: Logger) async throws {
        let ids = try await withPool(configuration, logger) {
            try await TokenIssuer.voidOld(
                $0, issuer: Self.name, audit: AuditEntry(.signingKeyRemoved, by: .machineUser))
        }
        guard !ids.isEmpty else { return say("has one key, and keeps it: add another with rotate-key first") }
        say("refuses the tokens of \(ids.sorted().joined(separator: ", ")) within 2 s")
    }

    private func withPool<T>(
        _ configuration: ServiceConfiguration, _ logger: Logger, _ body: (ConnectionPool) async throws -> T
    ) async throws -> T {
        try await check(configuration, logger: logger)
        let pool = ConnectionPool(
            try ServiceBase.options(Self.name, configuration, [:]), size: 1, logger: logger)
        let result: T
        do { result = try await body(pool) } catch {
            await pool.close()
            throw error
        }
        await pool.close()
        return result
    }

    private func say(_ text: String) { FileHandle.standardOutput.write(Data("\(Self.name) \(text)\n".utf8)) }
}
