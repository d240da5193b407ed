import Dispatch
public import Logging
import Synchronization

/// A connection pool. Callers get connections in the order of their requests.
///
/// The pool opens connections when needed, replaces broken ones, and rolls back transactions that callers leave open.
public final class ConnectionPool: Sendable {
    /// A snapshot of the pool's numbers.
    public struct Metrics: Sendable, Equatable {
        /// Connections that are idle, in use or being opened.
        public let open: Int
        /// Connections that are idle.
        public let idle: Int
        /// Callers that wait for a connection.
        public let waiting: Int
        /// The limit of `open`.
        public let size: Int
    }

    enum Grant {
        case connection(Connection)
        case permit
        case failed(PostgresError)
    }

    typealias State = PoolState<Connection, CheckedContinuation<Grant, Never>>

    private struct Guarded {
        var state: State
        var nextWaiter: UInt64 = 0
        /// One timer, for the longest waiter, is enough: all have the same timeout.
        var alarmIsSet = false
    }

    /// A connection that was idle for longer is checked before use.
    static let trustedRest = Duration.milliseconds(100)
    private static let alarms = DispatchQueue(label: "postgres.pool.alarms")

    private let options: ConnectionOptions
    private let acquisitionTimeout: Duration
    private let logger: Logger
    private let guarded: Mutex<Guarded>
    private let deadlines = Mutex<[OpenDeadline]>([])
    private let openings = OpeningPause()
    private let waited: @Sendable (Duration) -> Void
    private let fault: @Sendable (Connection) async throws(PostgresError) -> String?
    /// The server faults of the pool's statements.
    public let faults: ServerFaults

    /// - Parameters:
    ///   - acquisitionTimeout: the longest wait for a free connection. To open one may take another
    ///     ``ConnectionOptions/connectTimeoutSeconds``.
    ///   - waited: gets the time of each caller that waited for a connection, successful or not.
    ///   - fault: returns why the pool must not use a new connection; nil if it may.
    public init(
        _ options: ConnectionOptions, size: Int, acquisitionTimeout: Duration = .seconds(10),
        waited: @escaping @Sendable (Duration) -> Void = { _ in },
        fault: @escaping @Sendable (Connection) async throws(PostgresError) -> String? = { _ in nil }, logger: Logger
    ) {
        precondition(size > 0, "a pool needs at least one connection")
        self.options = options
        self.acquisitionTimeout = acquisitionTimeout
        self.logger = logger
        self.waited = waited
        self.fault = fault
        faults = ServerFaults(logger: logger)
        guarded = Mutex(Guarded(state: State(size: size)))
    }

    /// The pool's current numbers.
    public var metrics: Metrics {
        guarded.withLock {
            Metrics(
                open: $0.state.open, idle: $0.state.resting.count, waiting: $0.state.waitingCount, size: $0.state.size)
        }
    }

    /// Runs `body` with a connection, in the isolation of the caller.
    /// - Throws: errors of `body`; ``PostgresError/poolTimeout(waited:size:)``, ``PostgresError/connectFailed(_:)``,
    ///   ``PostgresError/cancelled``, ``PostgresError/closed``.
    public func withConnection<Value: Sendable>(
        isolation: isolated (any Actor)? = #isolation, _ body: (Connection) async throws -> Value
    ) async throws -> Value {
        let connection = try await acquire()
        do {
            let value = try await body(connection)
            await release(connection)
            return value
        } catch {
            faults.note(error)
            await release(connection)
            throw error
        }
    }

    /// Executes a pipeline on a pooled connection. Retries on another one if the connection was lost before sending.
    public func execute(_ queries: [Query]) async throws(PostgresError) -> [Rows] {
        while true {
            let connection = try await acquire()
            let outcome: Result<[Rows], PostgresError>
            do throws(PostgresError) {
                outcome = .success(try await connection.execute(queries))
            } catch {
                outcome = .failure(error)
            }
            await release(connection)
            if case .failure(.connectionLost(duringPipeline: false)) = outcome { continue }
            if case .failure(let error) = outcome { faults.note(error) }
            return try outcome.get()
        }
    }

    /// Executes one query on a pooled connection.
    public func execute(_ query: Query) async throws(PostgresError) -> Rows { try await execute([query])[0] }

    /// Fails waiting and new callers. Closes idle connections now, and others when they are released.
    public func close() async {
        let (members, waiters) = guarded.withLock { $0.state.close() }
        for waiter in waiters { waiter.resume(returning: .failed(.closed)) }
        for member in members { await member.close() }
    }
}

extension ConnectionPool {
    func acquire() async throws(PostgresError) -> Connection {
        while true {
            guard !Task.isCancelled else { throw .cancelled }
            let (acquisition, lastBreak) = guarded.withLock { ($0.state.acquire(), $0.state.lastBreak) }
            switch acquisition {
            case .closed: throw .closed
            case .permit: return try await open()
            case .member(let resting):
                if isTrusted(since: resting.since, lastBreak: lastBreak) { return resting.member }
                if await resting.member.isHealthy { return resting.member }
                giveUpPlace()
            case .wait:
                let start = ContinuousClock.now
                let grant = await wait()
                waited(start.duration(to: .now))
                switch grant {
                case .connection(let connection): return connection
                case .permit: return try await open()
                case .failed(let error): throw error
                }
            }
        }
    }

    private func isTrusted(since: ContinuousClock.Instant, lastBreak: ContinuousClock.Instant?) -> Bool {
        if let lastBreak, since <= lastBreak { return false }
        return since.duration(to: .now) < Self.trustedRest
    }

    /// The call deadlines of the pool's open connections.
    public var callDeadlines: [PipelineDeadline] { deadlines.withLock { $0.compactMap(\.deadline) } }

    private func open() async throws(PostgresError) -> Connection {
        do throws(PostgresError) {
            let connection = try await openings.opening { () async throws(PostgresError) in
                let connection = try await Connection.open(options, logger: logger)
                do throws(PostgresError) {
                    guard let reason = try await fault(connection) else { return connection }
                    throw .connectFailed(ConnectFailure(reason: .unsuitable(reason), target: options.names))
                } catch {
                    await connection.close()
                    throw error
                }
            }
            guarded.withLock { $0.state.opened() }
            deadlines.withLock { open in
                open.removeAll { $0.deadline == nil }
                open.append(OpenDeadline(deadline: connection.deadline))
            }
            return connection
        } catch {
            faults.note(error)
            let (next, failed) = guarded.withLock { $0.state.failedToOpen(at: .now) }
            if case .to(let waiter) = next { waiter.resume(returning: .permit) }
            for waiter in failed { waiter.resume(returning: .failed(error)) }
            throw error
        }
    }

    func release(_ connection: Connection) async {
        let isFit =
            switch connection.status.load(ordering: .acquiring) {
            case .idle: true
            case .broken: false
            case .busy, .inTransaction: await connection.recover()
            }
        guard isFit else {
            await connection.close()
            return giveUpPlace()
        }
        switch guarded.withLock({ $0.state.release(connection, at: .now) }) {
        case .to(let waiter): waiter.resume(returning: .connection(connection))
        case .none: break
        case .closed: await connection.close()
        }
    }

    private func giveUpPlace() {
        if case .to(let waiter) = guarded.withLock({ $0.state.giveUpPlace(at: .now) }) {
            waiter.resume(returning: .permit)
        }
    }

    private func wait() async -> Grant {
        let id = guarded.withLock { guarded in
            guarded.nextWaiter += 1
            return guarded.nextWaiter
        }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                // The state may have changed since `acquire`, so try again before enqueuing.
                let grant: Grant? = guarded.withLock { guarded in
                    if Task.isCancelled { return .failed(.cancelled) }
                    switch guarded.state.acquire() {
                    case .closed: return .failed(.closed)
                    case .permit: return .permit
                    case .member(let resting): return .connection(resting.member)
                    case .wait:
                        guarded.state.enqueue(id, continuation, at: .now)
                        setAlarm(&guarded)
                        return nil
                    }
                }
                if let grant { continuation.resume(returning: grant) }
            }
        } onCancel: {
            guarded.withLock { $0.state.abandon(id) }?.resume(returning: .failed(.cancelled))
        }
    }

    private func setAlarm(_ guarded: inout Guarded) {
        guard !guarded.alarmIsSet, let since = guarded.state.longestWaitSince else { return }
        guarded.alarmIsSet = true
        let wait = max(ContinuousClock.now.duration(to: since + acquisitionTimeout), .zero)
        Self.alarms.asyncAfter(deadline: .now() + wait.dispatchInterval) { [weak self] in self?.alarm() }
    }

    private func alarm() {
        let expired = guarded.withLock { guarded in
            guarded.alarmIsSet = false
            let expired = guarded.state.expire(.now - acquisitionTimeout)
            setAlarm(&guarded)
            return expired
        }
        let size = metrics.size
        for waiter in expired {
            waiter.resume(returning: .failed(.poolTimeout(waited: acquisitionTimeout, size: size)))
        }
    }
}

/// The deadline of a connection, held weakly.
private struct OpenDeadline {
    weak let deadline: PipelineDeadline?
}
