import Logging
import Postgres

/// The sessions of other processes in one database. A test uses them to wait for the end of unfinished work.
public enum Backends {
    /// Waits until no other session is active.
    ///
    /// It looks several times with a pause: at the first look, the server may not have read the last bytes of a stopped
    /// process. The transaction of a stopped process is idle after the server has ended it.
    ///
    /// - Parameter url: the URL of the database.
    public static func rest(in url: String) async throws {
        try await ask(
            "state <> 'idle'", url, times: 3, describe: "no other session is active")
    }

    /// Waits until the server has closed all sessions of a service.
    ///
    /// - Parameters:
    /// - service: the name of the service; all its processes are killed.
    /// - url: the URL of the database.
    public static func leave(of service: String, in url: String) async throws {
        try await ask(
            "application_name = 'dormouse-\(service)'", url, times: 1, describe: "no session of \(service) is left")
    }

    private static func ask(_ condition: String, _ url: String, times: Int, describe what: String) async throws {
        let connection = try await Connection.open(
            try ConnectionOptions(url: url), logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        let others = Query(
            Statement(
                """
                SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()
                    AND backend_type = 'client backend' AND pid <> pg_backend_pid() AND \(condition)
                """), rowsExpected: 1)
        for look in 1...times {
            if look > 1 { try await Task.sleep(for: .milliseconds(100)) }
            try await eventually(describe: what) {
                try await connection.execute(others)[0].decode(Int.self, at: 0) == 0
            }
        }
        await connection.close()
    }
}
