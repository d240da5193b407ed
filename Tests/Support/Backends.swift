import Logging
import Postgres

/// What the server does for other processes, in one database: so a test knows when what a process had begun is over.
public enum Backends {
    /// Waits until the server works for nobody but the one who asks.
    ///
    /// In several looks with a pause between them: what a process sent before it was stopped may not have been read in the
    /// first. A transaction that it was stopped in is at rest when the server has ended it.
    /// - Parameter url: of the database.
    public static func rest(in url: String) async throws {
        try await ask(
            "state <> 'idle'", url, times: 3, describe: "what had begun is over")
    }

    /// Waits until the server has noticed that no process of a service is left.
    ///
    /// - Parameters:
    ///   - service: as it is called; all its processes are killed.
    ///   - url: of the database.
    public static func leave(of service: String, in url: String) async throws {
        try await ask(
            "application_name = 'dormouse-\(service)'", url, times: 1, describe: "the server has left \(service)")
    }

    private static func ask(_ condition: String, _ url: String, times: Int, describe what: String) async throws {
        let connection = try await Connection.open(
            try ConnectionOptions(url: url), logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        let others = Call(
            Statement(
                """
                SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()
                    AND backend_type = 'client backend' AND pid <> pg_backend_pid() AND \(condition)
                """), rowsExpected: 1)
        for look in 1...times {
            if look > 1 { try await Task.sleep(for: .milliseconds(100)) }
            try await eventually(describe: what) { try await connection.run(others)[0].int(0) == 0 }
        }
        await connection.close()
    }
}
