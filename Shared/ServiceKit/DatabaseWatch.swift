import EventLog
import Logging
import Postgres
import ServiceLifecycle
import Synchronization

/// Tries the database in the background as the service's statements use it, on a connection of its own: the pool's may all be
/// busy, or be sessions that began before something broke.
final class DatabaseWatch: Service {
    private struct State {
        /// Nil after a probe that went well.
        var fault: String? = "the database was not asked yet"
        var answeredAt = ContinuousClock.now
        var isLogged = false
        var schemaFault: String?
        var daysFault: String?
    }

    private static let interval = Duration.seconds(1)
    /// A new session so often: an upgraded package breaks those alone that begin after it.
    private static let probesOfSession = 10
    /// A probe without an answer for so long has failed.
    private static let patience = Duration.seconds(5)
    /// A fault that the pool's statements met counts for so long.
    private static let memory = Duration.seconds(5)

    // A function in PL/pgSQL and a table of the log: what a command needs, and `SELECT 1` does not.
    private static let probe = Statement(
        "SELECT bus.expect(p.partition, 0, 'the first partition'), p.head FROM bus.partitions AS p WHERE p.partition = 0"
    )

    private let options: ConnectionOptions
    private let faults: ServerFaults
    private let migrators: [Migrator]
    private let logger: Logger
    private let state = Mutex(State())

    /// - Parameters:
    ///   - faults: what the service's own statements meet.
    ///   - migrators: of the schemas that the service works with.
    init(_ options: ConnectionOptions, faults: ServerFaults, migrators: [Migrator], logger: Logger) {
        self.options = options
        self.faults = faults
        self.migrators = migrators
        self.logger = logger
    }

    /// The fault of the database.
    var fault: String? {
        let (fault, answeredAt) = state.withLock { ($0.fault, $0.answeredAt) }
        if let fault { return fault }
        if answeredAt.duration(to: .now) > Self.patience { return "PostgreSQL does not answer" }
        return faults.newest(within: Self.memory)?.publicDescription
    }

    /// Why the program and the schema do not fit together.
    var schemaFault: String? { state.withLock { $0.schemaFault } }
    /// The fault of the tables of the days to come.
    var daysFault: String? { state.withLock { $0.daysFault } }

    /// Runs until graceful shutdown or cancellation.
    func run() async throws {
        await cancelWhenGracefulShutdown {
            while !Task.isCancelled {
                do throws(PostgresError) {
                    try await self.session()
                } catch {
                    if Task.isCancelled { return }
                    self.note(error)
                    try? await Task.sleep(for: Self.interval)
                }
            }
        }
    }

    private func session() async throws(PostgresError) {
        let connection = try await Connection.open(options, logger: logger)
        let outcome: Result<Void, PostgresError>
        do throws(PostgresError) {
            try await ask(connection)
            outcome = .success(())
        } catch {
            outcome = .failure(error)
        }
        await connection.close()
        try outcome.get()
    }

    private func ask(_ connection: Connection) async throws(PostgresError) {
        for number in 0..<Self.probesOfSession {
            _ = try await connection.run(Call(Self.probe, rowsExpected: 1))
            note(nil)
            if number == 0 { try await look(connection) }
            do { try await Task.sleep(for: Self.interval) } catch { return }
        }
    }

    /// The values that change seldom.
    private func look(_ connection: Connection) async throws(PostgresError) {
        var schemaFault: String?
        for migrator in migrators where schemaFault == nil {
            do throws(PostgresError) {
                schemaFault = try await migrator.fault(on: connection)?.description
            } catch  where !error.isConnectionProblem {
                // The probe goes well: the database is not at fault.
                schemaFault = "the schema's history can't be read: \(error.publicDescription)"
            }
        }
        let daysFault = try await LogQueries.daysFault(connection)
        state.withLock { state in
            state.schemaFault = schemaFault
            state.daysFault = daysFault
        }
    }

    /// The log gets PostgreSQL's own words, once for each time that it begins to fail.
    private func note(_ error: PostgresError?) {
        let isNews = state.withLock { state in
            defer { state.isLogged = error != nil }
            state.fault = error?.publicDescription
            if error == nil { state.answeredAt = .now }
            return state.isLogged != (error != nil)
        }
        guard isNews else { return }
        if let error {
            logger.error(
                "the database fails, requests that need it are answered 503", metadata: [LogKey.error: "\(error)"])
        } else {
            logger.notice("the database works again")
        }
    }
}
