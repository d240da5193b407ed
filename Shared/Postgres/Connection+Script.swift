import CLibpq
import Synchronization

extension Connection {
    /// Executes several statements of one string by the simple protocol, for migrations. Outside of a transaction they
    /// are one transaction. Results are discarded. COPY ends the session.
    public func script(_ sql: String) async throws(PostgresError) {
        await takeTurn()
        defer { passTurn() }
        try await perform(sql)
    }

    /// Executes a script for the holder of the turn.
    func perform(_ sql: String, shielded: Bool = false, deadline: ContinuousClock.Instant? = nil)
        async throws(PostgresError)
    {
        guard shielded || !Task.isCancelled else { throw .cancelled }
        let session = try liveSession()
        guard !sql.utf8.contains(0) else {
            throw .invalidQuery(queryIndex: 0, reason: "the script contains a zero byte")
        }
        status.store(.busy, ordering: .relaxed)
        let deadline = deadline ?? options.pipelineTimeout.map { .now + $0 }
        // Pipeline mode has no simple protocol. To leave and enter it sends nothing to the server.
        guard PQexitPipelineMode(session.pointer) == 1, PQsendQuery(session.pointer, sql) == 1 else {
            throw lost("sending failed")
        }
        var failure: ServerError?
        let wasCancelled = try await exchange(session, shielded: shielded, deadline: deadline) { pointer in
            guard let pointer else { return .finished }
            defer { PQclear(pointer) }
            switch PQresultStatus(pointer) {
            case PGRES_FATAL_ERROR:
                if failure == nil { failure = ServerError(pointer) }
                return .more
            case PGRES_COPY_IN, PGRES_COPY_OUT, PGRES_COPY_BOTH: return .broken
            default: return .more
            }
        }
        guard PQenterPipelineMode(session.pointer) == 1 else { throw lost("libpq refused pipeline mode") }
        publishStatus(session)
        guard let failure else { return }
        if wasCancelled, failure.sqlState == "57014" { throw .cancelled }
        throw .server(failure)
    }

    /// Prepares the session for its next user: rolls an open transaction back, also in a cancelled task.
    /// - Returns: whether the session can be used again.
    func recover() async -> Bool {
        await takeTurn()
        defer { passTurn() }
        guard let session, !closedByOwner else { return false }
        if PQtransactionStatus(session.pointer) != PQTRANS_IDLE {
            do {
                try await perform("ROLLBACK", shielded: true, deadline: .now + Self.cancelPatience)
            } catch {
                drop("an open transaction could not be rolled back")
                return false
            }
        }
        return status.load(ordering: .acquiring) == .idle
    }
}
