import EventLog
import Logging
import Postgres
import ServiceLifecycle
import Synchronization

/// Probes the database in the background with statements like the service's own.
///
/// It has its own connection: those of the pool may all be busy, or older than the fault.
final class DatabaseWatch: Service {
    private struct State {
        /// Nil after a successful probe.
        var fault: String? = "the database has not been probed yet"
        var answeredAt = ContinuousClock.now
        var isLogged = false
        var schemaFault: String?
        var daysFault: String?
        var isReplaced = false
    }

    private static let interval = Duration.seconds(1)
    /// The number of probes before a new session. An upgraded package breaks only sessions that begin after it.
    private static let probesOfSession = 10
    /// The timeout of a probe.
    private static let patience = Duration.seconds(5)
    /// The time for which a fault of the pool's statements counts.
    private static let memory = Duration.seconds(5)

    // Commands need PL/pgSQL and the log's tables, so this tests more than `SELECT 1`.
    private static let probe = Statement(
        """
        SELECT bus.expect(p.partition, 0, 'the first partition'), p.head
        FROM bus.partitions AS p WHERE p.partition = 0
        """)
    // Not a part of the probe, because Citus would send the id to a worker.
    private static let incarnationID = Statement("SELECT id FROM bus.incarnation")

    private let options: ConnectionOptions
    private let faults: ServerFaults
    private let incarnation: LogIncarnation
    private let migrators: [Migrator]
    private let logger: Logger
    private let state = Mutex(State())

    /// - Parameters:
    ///   - faults: the faults of the service's own statements.
    ///   - incarnation: the incarnation of the log at the start of the process.
    ///   - migrators: the migrators of the schemas that the service uses.
    init(
        _ options: ConnectionOptions, faults: ServerFaults, incarnation: LogIncarnation, migrators: [Migrator],
        logger: Logger
    ) {
        self.options = options
        self.faults = faults
        self.incarnation = incarnation
        self.migrators = migrators
        self.logger = logger
    }

    /// The fault of the database, without data.
    var fault: String? {
        let (fault, answeredAt) = state.withLock { ($0.fault, $0.answeredAt) }
        if let fault { return fault }
        if answeredAt.duration(to: .now) > Self.patience { return "PostgreSQL does not answer" }
        return faults.newest(within: Self.memory)?.publicDescription
    }

    /// Why the program and the schema do not fit together.
    var schemaFault: String? { state.withLock { $0.schemaFault } }
    /// The fault of the tables for the coming days.
    var daysFault: String? { state.withLock { $0.daysFault } }

    /// Runs until graceful shutdown or cancellation.
    ///
    /// - Throws: ``LogReplaced`` when another incarnation of the log begins. States in memory may then include lost
    ///   events, so the process must end.
    func run() async throws {
        try await cancelWhenGracefulShutdown {
            while !Task.isCancelled, !self.isReplaced {
                do throws(PostgresError) {
                    try await self.session()
                } catch {
                    if Task.isCancelled { return }
                    self.note(error)
                    try? await Task.sleep(for: Self.interval)
                }
            }
            if self.isReplaced { throw LogReplaced() }
        }
    }

    private var isReplaced: Bool { state.withLock { $0.isReplaced } }

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
            let rows = try await connection.execute([
                Query(Self.probe, rowsExpected: 1), Query(Self.incarnationID, rowsExpected: 1),
            ])
            if try rows[1][0].decode(String.self) != incarnation.id {
                return state.withLock { $0.isReplaced = true }
            }
            note(nil)
            if number == 0 { try await look(connection) }
            do { try await Task.sleep(for: Self.interval) } catch { return }
        }
    }

    /// Checks the schema and the tables of days, which change seldom.
    private func look(_ connection: Connection) async throws(PostgresError) {
        var schemaFault: String?
        for migrator in migrators where schemaFault == nil {
            do throws(PostgresError) {
                schemaFault = try await migrator.fault(on: connection)?.description
            } catch  where !error.isConnectionProblem {
                // The probe succeeded, so this is not a fault of the database.
                schemaFault = "the migrations of a schema can't be read: \(error.publicDescription)"
            }
        }
        let daysFault = try await LogQueries.daysFault(connection)
        state.withLock { state in
            state.schemaFault = schemaFault
            state.daysFault = daysFault
        }
    }

    /// Logs PostgreSQL's whole message, once for each outage.
    private func note(_ error: PostgresError?) {
        let isNews = state.withLock { state in
            defer { state.isLogged = error != nil }
            state.fault = error?.publicDescription
            if error == nil { state.answeredAt = .now }
            return state.isLogged != (error != nil)
        }
        guard isNews else { return }
        if let error {
            logger.error("failed to probe database, requests that need it get 503", error: error)
        } else {
            logger.notice("probed database successfully again")
        }
    }
}

/// Another incarnation of the log has begun.
struct LogReplaced: Error, CustomStringConvertible {
    var description: String {
        "the log was restored, or a standby took over: the process ends, so that its next start reads the log anew"
    }
}
