import CLibpq
import Synchronization

extension Connection {
    /// Executes one query.
    public func run(_ call: Call) async throws(PostgresError) -> Rows {
        try await run([call])[0]
    }

    /// Executes queries as a pipeline: one round trip with one sync at the end. Outside of a transaction they are one
    /// implicit transaction. The pipeline also prepares new statements.
    ///
    /// Cancellation of the task asks the server to stop. If all queries succeed before that, they return as usual.
    /// - Returns: the rows of each query, in order.
    /// - Throws: the first failure with the index of its query; later queries did not run.
    ///   ``PostgresError/timedOut(after:)`` after ``ConnectionOptions/flightTimeout``, which also closes the session.
    public func run(_ calls: [Call]) async throws(PostgresError) -> [Rows] {
        await takeTurn()
        defer { passTurn() }
        return try await fly(calls)
    }

    /// Executes a pipeline for the holder of the turn.
    func fly(
        _ calls: [Call], shielded: Bool = false, deadline: ContinuousClock.Instant? = nil
    ) async throws(PostgresError) -> [Rows] {
        guard shielded || !Task.isCancelled else { throw .cancelled }
        let session = try liveSession()
        guard !calls.isEmpty else { return [] }
        for (index, call) in calls.enumerated() where call.parameters.count > Int(PQ_QUERY_PARAM_MAX_LIMIT) {
            throw .invalidCall(callIndex: index, reason: "it has more than 65,535 parameters")
        }
        status.store(.busy, ordering: .relaxed)
        if let timeout = options.flightTimeout { self.deadline.begin(timeout) }
        defer { self.deadline.end() }
        let deadline = deadline ?? options.flightTimeout.map { .now + $0 }
        var unconfirmed: [Int] = []
        let steps = try send(calls, session, preparing: &unconfirmed)
        var flight = Flight(
            steps: steps,
            expectations: calls.map { Flight.Expectation(rows: $0.rowsExpected, isCommit: $0.statement.isCommit) })
        var results: [Rows?] = Array(repeating: nil, count: calls.count)
        let wasCancelled = try await exchange(session, shielded: shielded, deadline: deadline) { pointer in
            let (answer, handle) = Self.read(pointer)
            switch flight.receive(answer) {
            case .wait: return .more
            case .markPrepared(let call): unconfirmed.removeAll { $0 == call }
            case .keep(let call): results[call] = handle.map(Rows.init)
            case .forget(let call): prepared.remove(calls[call])
            case .finished: return .finished
            case .broken: return .broken
            }
            return .more
        }
        for call in unconfirmed { prepared.remove(calls[call]) }
        publishStatus(session)
        guard let failure = flight.failure else { return results.compactMap(\.self) }
        if wasCancelled, failure.sqlState == "57014" { throw .cancelled }
        throw Self.named(failure, calls)
    }

    /// Returns the failure with its statement, for the log.
    private static func named(_ failure: PostgresError, _ calls: [Call]) -> PostgresError {
        guard case .server(let error) = failure, let index = error.callIndex, calls.indices.contains(index) else {
            return failure
        }
        return .server(error.at(index, statement: ServerError.label(calls[index].statement.sql)))
    }

    /// Updates the status that the pool reads.
    func publishStatus(_ session: Session) {
        let transaction = PQtransactionStatus(session.pointer)
        status.store(transaction == PQTRANS_IDLE ? .idle : .inTransaction, ordering: .releasing)
    }

    /// Converts one result; nil is the end of a statement.
    private static func read(_ pointer: OpaquePointer?) -> (Flight.Answer, ResultHandle?) {
        guard let pointer else { return (.end, nil) }
        let handle = ResultHandle(pointer)
        switch PQresultStatus(pointer) {
        case PGRES_TUPLES_OK, PGRES_COMMAND_OK, PGRES_EMPTY_QUERY:
            let rows = Rows(handle: handle)
            return (.succeeded(rowsTouched: rows.touched, tag: rows.commandTag), handle)
        case PGRES_PIPELINE_SYNC: return (.synchronized, nil)
        case PGRES_PIPELINE_ABORTED: return (.aborted, nil)
        case PGRES_FATAL_ERROR: return (.failed(ServerError(pointer)), nil)
        default: return (.unexpected, nil)
        }
    }

    /// - Parameter preparing: receives the queries whose statements this pipeline prepares. Each statement is
    ///   registered at once, so that its next query finds it. The caller removes unconfirmed ones.
    private func send(
        _ calls: [Call], _ session: Session, preparing: inout [Int]
    ) throws(PostgresError) -> [Flight.Step] {
        var steps: [Flight.Step] = []
        steps.reserveCapacity(calls.count + 2)
        for (index, call) in calls.enumerated() {
            let sent: Int32
            if let name = prepared.name(of: call) {
                sent = sendPrepared(call, name, session)
            } else if prepared.isFull {
                sent = sendUnprepared(call, session)
            } else {
                let name = prepared.freshName()
                preparing.append(index)
                prepared.insert(call, name: name)
                steps.append(.prepare(call: index))
                let types = call.parameters.map(\.type)
                let count = Int32(types.count)
                sent =
                    PQsendPrepare(session.pointer, name, call.statement.sql, count, types) == 1
                    ? sendPrepared(call, name, session) : 0
            }
            guard sent == 1 else { throw lost("sending failed") }
            steps.append(.execute(call: index))
        }
        guard PQpipelineSync(session.pointer) == 1 else { throw lost("sending failed") }
        return steps
    }

    private func sendPrepared(_ call: Call, _ name: String, _ session: Session) -> Int32 {
        binder.bind(call.parameters) { count, values, lengths, formats in
            PQsendQueryPrepared(session.pointer, name, count, values, lengths, formats, 1)
        }
    }

    private func sendUnprepared(_ call: Call, _ session: Session) -> Int32 {
        let types = call.parameters.map(\.type)
        return binder.bind(call.parameters) { count, values, lengths, formats in
            PQsendQueryParams(session.pointer, call.statement.sql, count, types, values, lengths, formats, 1)
        }
    }
}
