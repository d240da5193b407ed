import CLibpq
import Dispatch
import Glibc
import Logging
import Synchronization
import Telemetry

extension Connection {
    /// Tries the hosts in order, as libpq does, but each with its own timeout.
    func connect() async throws(PostgresError) {
        // "prefer-standby" needs two passes: first only standbys, then any server.
        let passes: [ConnectionOptions.TargetSession] =
            options.target == .preferStandby ? [.standby, .any] : [options.target]
        var first: ConnectFailure?
        for target in passes {
            for host in options.hosts {
                switch await attempt(host, target) {
                case .success(let session):
                    self.session = session
                    try await applySettings(session)
                    publishStatus(session)
                    return
                case .failure(.connectFailed(let failure)):
                    // Report the first failure. A dead primary is more useful to report than a read-only standby.
                    if first == nil || first?.reason == .notWritable { first = failure }
                    guard failure.mayTryNextHost else { throw .connectFailed(failure) }
                case .failure(let error): throw error
                }
            }
        }
        throw first.map { .connectFailed($0) } ?? .closed
    }

    private func applySettings(_ session: Session) async throws(PostgresError) {
        let major = ServerVersion.major(PQserverVersion(session.pointer))
        let known = options.settings.filter { $0.major <= major }
        _ = try await executeHoldingTurn(known.map { Query(.set, [.text($0.name), .text($0.value)]) })
    }

    private func attempt(
        _ host: HostAddress, _ target: ConnectionOptions.TargetSession
    ) async -> Result<Session, PostgresError> {
        let deadline = ContinuousClock.now + .seconds(options.connectTimeoutSeconds)
        wakeSoon(at: deadline)
        guard let pointer = start(host, target) else {
            let failure = ConnectFailure(reason: .other, target: options.name(of: host), detail: "out of memory")
            return .failure(.connectFailed(failure))
        }
        // Only verbose messages contain the SQLSTATE of a connect failure.
        PQsetErrorVerbosity(pointer, PQERRORS_VERBOSE)
        let result = await withTaskCancellationHandler {
            await poll(pointer, host, deadline)
        } onCancel: {
            wakeSoon()
        }
        switch result {
        case .success:
            let session = Session(pointer, queue: executor.queue, logger: logger) { [weak self] in
                self?.assumeIsolated { $0.wake() }
            }
            return .success(session)
        case .failure(let error):
            PQfinish(pointer)
            return .failure(error)
        }
    }

    /// Starts a connection attempt. libpq resolves the name here, which may block this connection's thread.
    private func start(_ host: HostAddress, _ target: ConnectionOptions.TargetSession) -> OpaquePointer? {
        var pairs = options.parameters
        pairs.append(("target_session_attrs", target.rawValue))
        if let name = host.host { pairs.append(("host", name)) }
        if let address = host.hostaddr { pairs.append(("hostaddr", address)) }
        if let port = host.port { pairs.append(("port", port)) }
        let keywords = pairs.map { strdup($0.keyword) }
        let values = pairs.map { strdup($0.value) }
        defer { for string in keywords + values { free(string) } }
        return PQconnectStartParams(
            keywords.map { UnsafePointer($0) } + [nil], values.map { UnsafePointer($0) } + [nil], 0)
    }

    private func poll(
        _ pointer: OpaquePointer, _ host: HostAddress, _ deadline: ContinuousClock.Instant
    ) async -> Result<Void, PostgresError> {
        func failed(_ reason: ConnectFailure.Reason) -> Result<Void, PostgresError> {
            .failure(.connectFailed(ConnectFailure(reason: reason, target: options.name(of: host))))
        }
        // Before the first poll, libpq wants the caller to wait for writing.
        var wanted = PGRES_POLLING_WRITING
        while PQstatus(pointer) != CONNECTION_BAD {
            guard !Task.isCancelled else { return .failure(.cancelled) }
            guard ContinuousClock.now < deadline else { return failed(.timedOut) }
            guard await watched(pointer, write: wanted == PGRES_POLLING_WRITING) else { continue }
            wanted = PQconnectPoll(pointer)
            if wanted == PGRES_POLLING_OK {
                let major = ServerVersion.major(PQserverVersion(pointer))
                return major < ServerVersion.minimumMajor ? failed(.serverTooOld(major)) : .success(())
            }
            if wanted == PGRES_POLLING_FAILED { break }
        }
        let message = String(cString: PQerrorMessage(pointer))
        let failure = ConnectFailure(target: options.name(of: host), message: message)
        logger.debug("failed to connect to the database", metadata: [LogKey.detail: "\(failure.detail)"])
        return .failure(.connectFailed(failure))
    }

    /// Waits for the current socket. Each poll of libpq may replace the socket, so each wait has its own watch, which
    /// ends before the next poll.
    /// - Returns: false after a wake-up by the timer or by cancellation.
    private func watched(_ pointer: OpaquePointer, write: Bool) async -> Bool {
        let socket = PQsocket(pointer)
        guard socket >= 0 else { return true }
        let watch = SocketWatch(socket, queue: executor.queue) { [weak self] in
            self?.assumeIsolated { $0.wake() }
        }
        await withCheckedContinuation { continuation in
            waiter = continuation
            watch.arm(read: !write, write: write)
        }
        watch.cancel()
        var entry = pollfd(fd: socket, events: Int16(write ? POLLOUT : POLLIN), revents: 0)
        return Glibc.poll(&entry, 1, 0) > 0
    }
}

extension Statement {
    fileprivate static let set = Statement("SELECT set_config($1, $2, false)")
}
