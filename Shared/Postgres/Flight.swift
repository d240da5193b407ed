/// The pure side of one pipeline flight: which answers are due, in which order, and what each means. The connection
/// feeds it what `PQgetResult` returns and does what it says; it needs no server.
///
/// What libpq returns for each statement is one result and one end marker; after an error everything up to the sync is
/// `aborted`; the sync itself has no end marker.
struct Flight {
    enum Step: Equatable {
        /// Prepares the statement of this call.
        case prepare(call: Int)
        case execute(call: Int)
    }

    enum Answer {
        /// A result that is no error; `rowsTouched` and `tag` matter for executions only.
        case succeeded(rowsTouched: Int, tag: String)
        case failed(ServerError)
        /// Skipped, because an earlier step failed.
        case aborted
        /// The end marker of a statement.
        case end
        case synchronized
        /// What only COPY and libpq's synchronous calls give.
        case unexpected
    }

    enum Action: Equatable {
        case wait
        /// The statement of this call is prepared now, whatever becomes of the flight.
        case markPrepared(call: Int)
        /// The result belongs to this call.
        case keep(call: Int)
        /// The prepared statement of this call is of no use any more; the next flight must prepare it anew.
        case forget(call: Int)
        case finished
        /// Answers that no server gives: the connection cannot be trusted any more.
        case broken
    }

    /// What the flight must know of each call.
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
            // Also after the last end marker: an error that the server finds while it commits at the sync.
            guard !answered else { return .broken }
            answered = true
            return fail(error)
        case .succeeded(let rowsTouched, let tag):
            guard position < steps.count, !answered else { return .broken }
            answered = true
            switch steps[position] {
            case .prepare(let call): return .markPrepared(call: call)
            case .execute(let call):
                judge(call, rowsTouched, tag)
                return .keep(call: call)
            }
        }
    }

    private mutating func fail(_ error: ServerError) -> Action {
        let step = position < steps.count ? steps[position] : steps.last
        let call: Int? =
            switch step {
            case .prepare(let call), .execute(let call): call
            case nil: nil
            }
        if case .server = failure {} else { failure = .server(error.at(call)) }
        // The name is gone (26000, after DISCARD ALL) or the table has changed under it (0A000, "cached plan").
        if case .execute(let call) = step, error.sqlState == "26000" || error.sqlState == "0A000" {
            return .forget(call: call)
        }
        return .wait
    }

    /// A guard does not stop the server, so later calls may still fail for real; that error is the one to report.
    private mutating func judge(_ call: Int, _ rowsTouched: Int, _ tag: String) {
        guard failure == nil else { return }
        if expectations[call].isCommit, tag == "ROLLBACK" {
            let message = "the transaction had failed before, so its COMMIT rolled it back"
            failure = .server(ServerError(sqlState: "25P02", message: message, callIndex: call))
        } else if let expected = expectations[call].rows, expected != rowsTouched {
            failure = .guardFailed(callIndex: call, expected: expected, got: rowsTouched)
        }
    }
}

extension ServerError {
    func at(_ call: Int?, statement: String? = nil) -> ServerError {
        ServerError(
            sqlState: sqlState, severity: severity, message: message, detail: detail, hint: hint,
            constraint: constraint, schema: schema, table: table, column: column, callIndex: call,
            statement: statement)
    }
}
