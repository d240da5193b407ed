import CLibpq
import DequeModule
import Dispatch
public import Logging
import Synchronization
import Telemetry

/// A session with the server. It executes one pipeline at a time, in the order of the calls.
///
/// The actor runs on its own dispatch queue: libpq's pointer never leaves it, and blocking name resolution blocks no
/// other connection. To open a transaction over several pipelines, send `BEGIN` as a query.
public actor Connection {
    enum Status: UInt8, AtomicRepresentable {
        case idle
        case busy
        case inTransaction
        case broken
    }

    nonisolated let executor = QueueExecutor(label: "postgres.connection")
    /// The status, which the pool reads without an actor hop.
    nonisolated let status = Atomic(Status.busy)
    /// The deadline of the current call, for a watchdog.
    nonisolated let deadline = PipelineDeadline()
    let options: ConnectionOptions
    let logger: Logger
    let binder = Binder()
    var session: Session?
    var closedByOwner = false
    var prepared = PreparedStatements()

    /// The task that waits for the socket. At most one: the holder of the turn.
    var waiter: CheckedContinuation<Void, Never>?
    var cancelsUnderWay = 0
    /// The time at which the timer for deadlines fires; nil if no timer is set.
    var alarm: ContinuousClock.Instant?
    private var isTaken = false
    private var turns: Deque<CheckedContinuation<Void, Never>> = []

    public nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    init(_ options: ConnectionOptions, _ logger: Logger) {
        self.options = options
        self.logger = logger
    }

    /// Connects to the first suitable host of the list. Each host has ``ConnectionOptions/connectTimeoutSeconds``; slow
    /// name resolution adds to it.
    /// - Throws: ``PostgresError/connectFailed(_:)``, ``PostgresError/cancelled``
    public static func open(_ options: ConnectionOptions, logger: Logger) async throws(PostgresError) -> Connection {
        let connection = Connection(options, logger)
        try await connection.connect()
        return connection
    }

    /// Whether the session is alive. Also detects that the server ended an idle session.
    public var isHealthy: Bool {
        guard let session else { return false }
        if isTaken || session.pollForDisconnect() { return !session.isBad }
        drop("the server ended the session")
        return false
    }

    /// The process id of the server's backend, as in `pg_stat_activity.pid`.
    public var backendPID: Int { session.map { Int(PQbackendPID($0.pointer)) } ?? 0 }

    /// Ends the session after the current pipeline; later calls throw ``PostgresError/closed``.
    public func close() async {
        closedByOwner = true
        await takeTurn()
        drop(nil)
        passTurn()
    }

    func takeTurn() async {
        if !isTaken {
            isTaken = true
            return
        }
        await withCheckedContinuation { turns.append($0) }
    }

    func passTurn() {
        if let next = turns.popFirst() { next.resume() } else { isTaken = false }
    }

    /// Returns the session after a check that it is alive.
    func liveSession() throws(PostgresError) -> Session {
        guard !closedByOwner else { throw .closed }
        guard let session else { throw .connectionLost(duringPipeline: false) }
        guard session.pollForDisconnect() else {
            drop("the server ended the session")
            throw .connectionLost(duringPipeline: false)
        }
        return session
    }

    /// Closes the session, and resumes the task that waits for the socket.
    func drop(_ reason: String?) {
        status.store(.broken, ordering: .releasing)
        guard session != nil else { return }
        session = nil
        prepared = PreparedStatements()
        if let reason { logger.notice("dropped database connection", metadata: [LogKey.reason: "\(reason)"]) }
        wake()
    }
}
