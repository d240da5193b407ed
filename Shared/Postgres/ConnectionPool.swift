import Dispatch
public import Logging
import Synchronization

/// At most `size` connections, shared in the order of asking. Connections open when needed, broken ones are replaced,
/// and one that comes back inside a transaction is rolled back first.
public final class ConnectionPool: Sendable {
    /// A moment's numbers.
    public struct Metrics: Sendable, Equatable {
        /// Connections at rest, in use or being opened.
        public let open: Int
        public let idle: Int
        public let waiting: Int
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
        /// One alarm, for whoever has waited longest, serves all: they wait equally long.
        var alarmIsSet = false
    }

    /// A connection at rest for longer is looked at before it is handed out.
    static let trustedRest = Duration.milliseconds(100)
    private static let alarms = DispatchQueue(label: "postgres.pool.alarms")

    private let options: ConnectionOptions
    private let acquisitionTimeout: Duration
    private let logger: Logger
    private let guarded: Mutex<Guarded>
    private let deadlines = Mutex<[OpenDeadline]>([])
    private let openings = OpeningPause()
    /// The server faults of the pool's statements.
    public let faults: ServerFaults

    /// - Parameter acquisitionTimeout: how long to wait for a connection to come free; opening one has
    ///   ``ConnectionOptions/connectTimeoutSeconds`` besides.
    public init(_ options: ConnectionOptions, size: Int, acquisitionTimeout: Duration = .seconds(10), logger: Logger) {
        precondition(size > 0, "a pool needs at least one connection")
        self.options = options
        self.acquisitionTimeout = acquisitionTimeout
        self.logger = logger
        faults = ServerFaults(logger: logger)
        guarded = Mutex(Guarded(state: State(size: size)))
    }

    public var metrics: Metrics {
        guarded.withLock {
            Metrics(
                open: $0.state.open, idle: $0.state.resting.count, waiting: $0.state.waitingCount, size: $0.state.size)
        }
    }

    /// Lends a connection for the time of `body`, which runs where the caller runs.
    /// - Throws: what `body` throws; ``PostgresError/poolTimeout(waited:size:)``, ``PostgresError/connectFailed(_:)``,
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

    /// One flight on a pooled connection. A connection that turns out to be dead before anything was sent is replaced.
    public func run(_ calls: [Call]) async throws(PostgresError) -> [Rows] {
        while true {
            let connection = try await acquire()
            let outcome: Result<[Rows], PostgresError>
            do throws(PostgresError) {
                outcome = .success(try await connection.run(calls))
            } catch {
                outcome = .failure(error)
            }
            await release(connection)
            if case .failure(.connectionLost(duringFlight: false)) = outcome { continue }
            if case .failure(let error) = outcome { faults.note(error) }
            return try outcome.get()
        }
    }

    /// One call on a pooled connection.
    public func run(_ call: Call) async throws(PostgresError) -> Rows { try await run([call])[0] }

    /// Refuses newcomers and waiters, closes what is at rest at once, and what is in use when it comes back.
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
                switch await wait() {
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
    public var callDeadlines: [CallDeadline] { deadlines.withLock { $0.compactMap(\.deadline) } }

    private func open() async throws(PostgresError) -> Connection {
        do throws(PostgresError) {
            let connection = try await openings.opening { () async throws(PostgresError) in
                try await Connection.open(options, logger: logger)
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
                // Between `acquire` and here things may have changed, so look again before lining up.
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
    weak let deadline: CallDeadline?
}
