import Testing

@testable import Postgres

@Suite("Pipeline state machine")
struct PipelineTests {
    private func pipeline(
        _ steps: [Pipeline.Step], rows: [Int?]? = nil, commitAt: Int? = nil
    ) -> Pipeline {
        let queries =
            1
            + (steps.map { step in
                switch step {
                case .prepare(let query), .execute(let query): query
                }
            }.max() ?? 0)
        return Pipeline(
            steps: steps,
            expectations: (0..<queries).map { Pipeline.Expectation(rows: rows?[$0], isCommit: $0 == commitAt) })
    }

    private let fine = Pipeline.Answer.succeeded(rowsTouched: 1, tag: "SELECT 1")
    private let fault = ServerError(sqlState: "23505", message: "duplicate")

    @Test func `every result belongs to its query`() {
        var pipeline = pipeline([.prepare(query: 0), .execute(query: 0), .execute(query: 1)])
        #expect(pipeline.receive(fine) == .markPrepared(query: 0))
        #expect(pipeline.receive(.end) == .wait)
        #expect(pipeline.receive(fine) == .keep(query: 0))
        #expect(pipeline.receive(.end) == .wait)
        #expect(pipeline.receive(fine) == .keep(query: 1))
        #expect(pipeline.receive(.end) == .wait)
        #expect(pipeline.receive(.synchronized) == .finished)
        #expect(pipeline.failure == nil)
    }

    @Test func `an error has the index of its query and the rest is read up to the sync`() {
        var pipeline = pipeline([.execute(query: 0), .execute(query: 1), .execute(query: 2)])
        _ = pipeline.receive(fine)
        _ = pipeline.receive(.end)
        #expect(pipeline.receive(.failed(fault)) == .wait)
        _ = pipeline.receive(.end)
        #expect(pipeline.receive(.aborted) == .wait)
        _ = pipeline.receive(.end)
        #expect(pipeline.receive(.synchronized) == .finished)
        guard case .server(let error) = pipeline.failure else {
            Issue.record("no server error")
            return
        }
        #expect(error.queryIndex == 1)
        #expect(error.sqlState == "23505")
    }

    @Test func `a failed or aborted PREPARE is not marked as prepared`() {
        var refused = pipeline([.prepare(query: 0), .execute(query: 0), .prepare(query: 1), .execute(query: 1)])
        let answers: [Pipeline.Answer] = [
            .failed(fault), .end, .aborted, .end, .aborted, .end, .aborted, .end, .synchronized,
        ]
        let actions = answers.map { refused.receive($0) }
        #expect(actions.dropLast().allSatisfy { $0 == .wait })
        #expect(actions.last == .finished)
    }

    @Test func `an error at the sync belongs to the last query`() {
        var pipeline = pipeline([.execute(query: 0), .execute(query: 1)])
        for answer in [fine, .end, fine, .end] { _ = pipeline.receive(answer) }
        #expect(pipeline.receive(.failed(fault)) == .wait)
        #expect(pipeline.receive(.end) == .wait)
        #expect(pipeline.receive(.synchronized) == .finished)
        guard case .server(let error) = pipeline.failure else {
            Issue.record("no server error")
            return
        }
        #expect(error.queryIndex == 1)
    }

    @Test func `another row count than expected fails the pipeline`() {
        var pipeline = pipeline([.execute(query: 0), .execute(query: 1)], rows: [1, 1])
        for answer: Pipeline.Answer in [.succeeded(rowsTouched: 0, tag: "UPDATE 0"), .end, fine, .end, .synchronized] {
            _ = pipeline.receive(answer)
        }
        #expect(pipeline.failure == .guardFailed(queryIndex: 0, expected: 1, got: 0))
    }

    @Test func `a server error takes precedence over a failed guard`() {
        var pipeline = pipeline([.execute(query: 0), .execute(query: 1)], rows: [1, nil])
        for answer: Pipeline.Answer in [
            .succeeded(rowsTouched: 2, tag: "UPDATE 2"), .end, .failed(fault), .end, .synchronized,
        ] {
            _ = pipeline.receive(answer)
        }
        #expect(pipeline.failure?.sqlState == "23505")
    }

    @Test func `a COMMIT with the answer ROLLBACK is a failure`() {
        var pipeline = pipeline([.execute(query: 0)], commitAt: 0)
        for answer: Pipeline.Answer in [.succeeded(rowsTouched: 0, tag: "ROLLBACK"), .end, .synchronized] {
            _ = pipeline.receive(answer)
        }
        #expect(pipeline.failure?.sqlState == "25P02")
    }

    @Test(arguments: ["26000", "0A000"])
    func `an invalid prepared statement is prepared again`(sqlState: String) {
        var pipeline = pipeline([.execute(query: 0)])
        #expect(pipeline.receive(.failed(ServerError(sqlState: sqlState, message: ""))) == .forget(query: 0))
    }

    @Test func `answers that violate the protocol break the pipeline`() {
        var early = pipeline([.execute(query: 0)])
        #expect(early.receive(.synchronized) == .broken)
        var twice = pipeline([.execute(query: 0)])
        _ = twice.receive(fine)
        #expect(twice.receive(fine) == .broken)
        var unasked = pipeline([.execute(query: 0)])
        #expect(unasked.receive(.end) == .broken)
        var baseless = pipeline([.execute(query: 0)])
        #expect(baseless.receive(.aborted) == .broken)
        var copy = pipeline([.execute(query: 0)])
        #expect(copy.receive(.unexpected) == .broken)
    }
}
