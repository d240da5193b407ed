/// A state machine for the answers to a pipeline. Pure: the connection passes it the results of `PQgetResult` and
/// performs its actions.
///
/// libpq returns one result and one end marker for each statement. After an error, all results up to the sync are
/// `aborted`. The sync has no end marker.
struct Pipeline {
    enum Step: Equatable {
        /// Prepares the statement of this query.
        case prepare(query: Int)
        case execute(query: Int)
    }

    enum Answer {
        /// A successful result; only executions use `rowsTouched` and `tag`.
        case succeeded(rowsTouched: Int, tag: String)
        case failed(ServerError)
        /// A skipped step after an earlier failure.
        case aborted
        /// The end marker of a statement.
        case end
        case synchronized
        /// A result that only COPY and libpq's synchronous functions return.
        case unexpected
    }

    enum Action: Equatable {
        case wait
        /// The statement of this query is now prepared, even if the pipeline fails.
        case markPrepared(query: Int)
        /// The result belongs to this query.
        case keep(query: Int)
        /// The prepared statement of this query is invalid; the next pipeline must prepare it again.
        case forget(query: Int)
        case finished
        /// The answers violate the protocol; the connection is unusable.
        case broken
    }

    /// The expected result of a query.
    struct Expectation {
        var rows: Int?
        var isCommit: Bool
    }

    private let steps: [Step]
    private let expectations: [Expectation]
    private var position = 0
    private var answered = false
    private(set) var failure: PostgresError?

    init(steps: [Step], expectations: [Expectation]) {
        self.steps = steps
        self.expectations = expectations
    }

    mutating func receive(_ answer: Answer) -> Action {
        switch answer {
        case .unexpected: return .broken
        case .synchronized: return position == steps.count && !answered ? .finished : .broken
        case .end:
            guard answered else { return .broken }
            answered = false
            position = min(position + 1, steps.count)
            return .wait
        case .aborted:
            guard failure != nil, position < steps.count else { return .broken }
            answered = true
            return .wait
        case .failed(let error):
            // An error may also follow the last end marker, from the commit at the sync.
            guard !answered else { return .broken }
            answered = true
            return fail(error)
        case .succeeded(let rowsTouched, let tag):
            guard position < steps.count, !answered else { return .broken }
            answered = true
            switch steps[position] {
            case .prepare(let query): return .markPrepared(query: query)
            case .execute(let query):
                judge(query, rowsTouched, tag)
                return .keep(query: query)
            }
        }
    }

    private mutating func fail(_ error: ServerError) -> Action {
        let step = position < steps.count ? steps[position] : steps.last
        let query: Int? =
            switch step {
            case .prepare(let query), .execute(let query): query
            case nil: nil
            }
        if case .server = failure {} else { failure = .server(error.at(query)) }
        // The name does not exist (26000, after DISCARD ALL) or the table changed (0A000, "cached plan").
        if case .execute(let query) = step, error.sqlState == "26000" || error.sqlState == "0A000" {
            return .forget(query: query)
        }
        return .wait
    }

    /// Checks the result of a query. A later server error replaces a failed guard: a guard does not stop the server.
    private mutating func judge(_ query: Int, _ rowsTouched: Int, _ tag: String) {
        guard failure == nil else { return }
        if expectations[query].isCommit, tag == "ROLLBACK" {
            let message = "the transaction had failed, so COMMIT rolled it back"
            failure = .server(ServerError(sqlState: "25P02", message: message, queryIndex: query))
        } else if let expected = expectations[query].rows, expected != rowsTouched {
            failure = .guardFailed(queryIndex: query, expected: expected, got: rowsTouched)
        }
    }
}

extension ServerError {
    func at(_ query: Int?, statement: String? = nil) -> ServerError {
        var placed = self
        (placed.queryIndex, placed.statement) = (query, statement)
        return placed
    }
}
