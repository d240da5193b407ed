import CLibpq
import DequeModule
import Dispatch
public import Logging
import Synchronization

/// One session with the server. Calls are served in the order in which they arrive, one flight at a time.
///
/// The actor runs on a dispatch queue of its own: libpq's pointer never leaves it, and what blocks (name resolution)
/// blocks nobody else. A transaction that spans flights is opened by sending `BEGIN` as a call.
public actor Connection {
    enum Status: UInt8, AtomicRepresentable {
        case idle
        case busy
        case inTransaction
        case broken
    }

    nonisolated let executor = QueueExecutor(label: "postgres.connection")
    /// What the pool reads without a hop.
    nonisolated let status = Atomic(Status.busy)
    /// Lets a watchdog see whether calls return.
    nonisolated let deadline = CallDeadline()
    let options: ConnectionOptions
    let logger: Logger
    let binder = Binder()
    var session: Session?
    var closedByOwner = false
    var prepared = PreparedStatements()

    /// Who waits for the socket, at most one: the holder of the turn.
    var waiter: CheckedContinuation<Void, Never>?
    var cancelsUnderWay = 0
    /// The moment at which the timer for deadlines fires; nil while it is not set.
    var alarm: ContinuousClock.Instant?
    private var isTaken = false
    private var turns: Deque<CheckedContinuation<Void, Never>> = []

    public nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    init(_ options: ConnectionOptions, _ logger: Logger) {
        self.options = options
        self.logger = logger
    }

    /// Connects to the first host of the list that will do. Each host has ``ConnectionOptions/connectTimeoutSeconds``;
    /// a name server that hangs can make it longer.
    /// - Throws: ``PostgresError/connectFailed(_:)``, ``PostgresError/cancelled``
    public static func open(_ options: ConnectionOptions, logger: Logger) async throws(PostgresError) -> Connection {
        let connection = Connection(options, logger)
        try await connection.connect()
        return connection
    }

    /// False once the session has ended, also when the server ended it while nothing was asked of it.
    public var isHealthy: Bool {
        guard let session else { return false }
        if isTaken || session.readUnasked() { return !session.isBad }
        drop("the server ended the session")
        return false
    }

    /// The server's number for this session, as in `pg_stat_activity.pid`.
    public var backendPID: Int { session.map { Int(PQbackendPID($0.pointer)) } ?? 0 }

    /// Ends the session after what is under way; later calls throw ``PostgresError/closed``.
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

    /// The session, seen to be alive.
    func liveSession() throws(PostgresError) -> Session {
        guard !closedByOwner else { throw .closed }
        guard let session else { throw .connectionLost(duringFlight: false) }
        guard session.readUnasked() else {
            drop("the server ended the session")
            throw .connectionLost(duringFlight: false)
        }
        return session
    }

    /// Gives the session up; whoever waits for the socket wakes and finds it gone.
    func drop(_ reason: String?) {
        status.store(.broken, ordering: .releasing)
        guard session != nil else { return }
        session = nil
        prepared = PreparedStatements()
        if let reason { logger.notice("database connection dropped", metadata: ["reason": "\(reason)"]) }
        wake()
    }
}
