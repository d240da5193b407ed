import Logging
import Postgres
import TestSupport

/// A fresh database for one test, on the cluster that all tests share.
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

    func pool(size: Int, acquisitionTimeout: Duration = .seconds(60)) -> ConnectionPool {
        ConnectionPool(options, size: size, acquisitionTimeout: acquisitionTimeout, logger: .quiet)
    }
}

extension Logger {
    /// Tests judge what is returned and thrown; the log would only be noise.
    static var quiet: Logger { Logger(label: "postgres.tests", factory: { _ in SwiftLogNoOpLogHandler() }) }
}

extension Connection {
    /// Shorthand for statements without parameters.
    @discardableResult
    func run(_ sql: String, _ parameters: Parameter...) async throws(PostgresError) -> Rows {
        try await run(Call(Statement(sql), parameters))
    }
}

extension PrivateCluster {
    /// Returns when a backend runs exactly `sql`, or waits for a lock in it.
    func awaitRunning(_ sql: String) async throws {
        try await eventually(describe: "the server to run \(sql)") {
            let running = "SELECT count(*) FROM pg_stat_activity WHERE state = 'active' AND query = '\(sql)'"
            return try await self.sql(running) != "0"
        }
    }
}

/// The error that `body` throws, for a closer look than `#expect(throws:)` gives.
func caught(_ body: () async throws -> Void) async -> PostgresError? {
    do {
        try await body()
        return nil
    } catch {
        return error as? PostgresError
    }
}
