import Logging
import Postgres
import TestSupport

/// A new database for one test, in the cluster that all tests share.
struct Database {
    let url: String
    let options: ConnectionOptions

    init() async throws {
        url = try await PrivateCluster.shared().makeDatabase()
        options = try ConnectionOptions(url: url)
    }

    func connect() async throws -> Connection {
        try await Connection.open(options, logger: .quiet)
    }

    func pool(
        size: Int, acquisitionTimeout: Duration = .seconds(60),
        waited: @escaping @Sendable (Duration) -> Void = { _ in }
    ) -> ConnectionPool {
        ConnectionPool(options, size: size, acquisitionTimeout: acquisitionTimeout, waited: waited, logger: .quiet)
    }
}

extension Logger {
    /// Discards messages. Tests check results and errors.
    static var quiet: Logger { Logger(label: "postgres.tests", factory: { _ in SwiftLogNoOpLogHandler() }) }
}

extension Connection {
    /// Executes one query.
    @discardableResult
    func execute(_ sql: String, _ parameters: Parameter...) async throws(PostgresError) -> Rows {
        try await execute(Query(Statement(sql), parameters))
    }
}

extension PrivateCluster {
    /// Waits until a backend runs exactly `sql`, or waits for a lock in it.
    func awaitRunning(_ sql: String) async throws {
        try await eventually(describe: "the server runs \(sql)") {
            let running = "SELECT count(*) FROM pg_stat_activity WHERE state = 'active' AND query = '\(sql)'"
            return try await self.sql(running) != "0"
        }
    }
}

/// Returns the `PostgresError` that `body` throws; nil if it succeeds.
func caught(_ body: () async throws -> Void) async -> PostgresError? {
    do {
        try await body()
        return nil
    } catch {
        return error as? PostgresError
    }
}
