import CLibpq
import Synchronization

extension Connection {
    /// Executes one query.
    public func execute(_ query: Query) async throws(PostgresError) -> Rows {
        try await execute([query])[0]
    }

    /// Executes queries as a pipeline: one round trip with one sync at the end. Outside of a transaction they are one
    /// implicit transaction. The pipeline also prepares new statements.
    ///
    /// Cancellation of the task asks the server to stop. If all queries succeed before that, they return as usual.
    /// - Returns: the rows of each query, in order.
    /// - Throws: the first failure with the index of its query; later queries did not run.
    ///   ``PostgresError/timedOut(after:)`` after ``ConnectionOptions/pipelineTimeout``, which also closes the session.
    public func execute(_ queries: [Query]) async throws(PostgresError) -> [Rows] {
        await takeTurn()
        defer { passTurn() }
        return try await executeHoldingTurn(queries)
    }

    /// Executes a pipeline for the holder of the turn.
    func executeHoldingTurn(
        _ queries: [Query], shielded: Bool = false, deadline: ContinuousClock.Instant? = nil
    ) async throws(PostgresError) -> [Rows] {
        guard shielded || !Task.isCancelled else { throw .cancelled }
        let session = try liveSession()
        guard !queries.isEmpty else { return [] }
        for (index, query) in queries.enumerated() where query.parameters.count > Int(PQ_QUERY_PARAM_MAX_LIMIT) {
            throw .invalidQuery(queryIndex: index, reason: "it has more than 65,535 parameters")
        }
        status.store(.busy, ordering: .relaxed)
        if let timeout = options.pipelineTimeout { self.deadline.begin(timeout) }
        defer { self.deadline.end() }
        let deadline = deadline ?? options.pipelineTimeout.map { .now + $0 }
        var unconfirmed: [Int] = []
        let steps = try send(queries, session, preparing: &unconfirmed)
        var pipeline = Pipeline(
            steps: steps,
            expectations: queries.map { Pipeline.Expectation(rows: $0.rowsExpected, isCommit: $0.statement.isCommit) })
        var results: [Rows?] = Array(repeating: nil, count: queries.count)
        let wasCancelled = try await exchange(session, shielded: shielded, deadline: deadline) { pointer in
            let (answer, handle) = Self.read(pointer)
            switch pipeline.receive(answer) {
            case .wait: return .more
            case .markPrepared(let query): unconfirmed.removeAll { $0 == query }
            case .keep(let query): results[query] = handle.map(Rows.init)
            case .forget(let query): prepared.remove(queries[query])
            case .finished: return .finished
            case .broken: return .broken
            }
            return .more
        }
        for query in unconfirmed { prepared.remove(queries[query]) }
        publishStatus(session)
        guard let failure = pipeline.failure else { return results.compactMap(\.self) }
        if wasCancelled, failure.sqlState == "57014" { throw .cancelled }
        throw Self.named(failure, queries)
    }

    /// Returns the failure with its statement, for the log.
    private static func named(_ failure: PostgresError, _ queries: [Query]) -> PostgresError {
        guard case .server(let error) = failure, let index = error.queryIndex, queries.indices.contains(index) else {
            return failure
        }
        return .server(error.at(index, statement: ServerError.label(queries[index].statement.sql)))
    }

    /// Updates the status that the pool reads.
    func publishStatus(_ session: Session) {
        let transaction = PQtransactionStatus(session.pointer)
        status.store(transaction == PQTRANS_IDLE ? .idle : .inTransaction, ordering: .releasing)
    }

    /// Converts one result; nil is the end of a statement.
    private static func read(_ pointer: OpaquePointer?) -> (Pipeline.Answer, ResultHandle?) {
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
        _ queries: [Query], _ session: Session, preparing: inout [Int]
    ) throws(PostgresError) -> [Pipeline.Step] {
        var steps: [Pipeline.Step] = []
        steps.reserveCapacity(queries.count + 2)
        for (index, query) in queries.enumerated() {
            let sent: Int32
            if let name = prepared.name(of: query) {
                sent = sendPrepared(query, name, session)
            } else if prepared.isFull {
                sent = sendUnprepared(query, session)
            } else {
                let name = prepared.freshName()
                preparing.append(index)
                prepared.insert(query, name: name)
                steps.append(.prepare(query: index))
                let types = query.parameters.map(\.type)
                let count = Int32(types.count)
                sent =
                    PQsendPrepare(session.pointer, name, query.statement.sql, count, types) == 1
                    ? sendPrepared(query, name, session) : 0
            }
            guard sent == 1 else { throw lost("sending failed") }
            steps.append(.execute(query: index))
        }
        guard PQpipelineSync(session.pointer) == 1 else { throw lost("sending failed") }
        return steps
    }

    private func sendPrepared(_ query: Query, _ name: String, _ session: Session) -> Int32 {
        binder.bind(query.parameters) { count, values, lengths, formats in
            PQsendQueryPrepared(session.pointer, name, count, values, lengths, formats, 1)
        }
    }

    private func sendUnprepared(_ query: Query, _ session: Session) -> Int32 {
        let types = query.parameters.map(\.type)
        return binder.bind(query.parameters) { count, values, lengths, formats in
            PQsendQueryParams(session.pointer, query.statement.sql, count, types, values, lengths, formats, 1)
        }
    }
}
