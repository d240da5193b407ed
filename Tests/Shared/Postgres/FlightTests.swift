import Testing

@testable import Postgres

@Suite("Pipeline state machine")
struct FlightTests {
    private func flight(
        _ steps: [Flight.Step], rows: [Int?]? = nil, commitAt: Int? = nil
    ) -> Flight {
        let calls =
            1
            + (steps.map { step in
                switch step {
                case .prepare(let call), .execute(let call): call
                }
            }.max() ?? 0)
        return Flight(
            steps: steps,
            expectations: (0..<calls).map { Flight.Expectation(rows: rows?[$0], isCommit: $0 == commitAt) })
    }

    private let fine = Flight.Answer.succeeded(rowsTouched: 1, tag: "SELECT 1")
    private let fault = ServerError(sqlState: "23505", message: "duplicate")

    @Test func `every result belongs to its query`() {
        var flight = flight([.prepare(call: 0), .execute(call: 0), .execute(call: 1)])
        #expect(flight.receive(fine) == .markPrepared(call: 0))
        #expect(flight.receive(.end) == .wait)
        #expect(flight.receive(fine) == .keep(call: 0))
        #expect(flight.receive(.end) == .wait)
        #expect(flight.receive(fine) == .keep(call: 1))
        #expect(flight.receive(.end) == .wait)
        #expect(flight.receive(.synchronized) == .finished)
        #expect(flight.failure == nil)
    }

    @Test func `an error has the index of its query and the rest is read up to the sync`() {
        var flight = flight([.execute(call: 0), .execute(call: 1), .execute(call: 2)])
        _ = flight.receive(fine)
        _ = flight.receive(.end)
        #expect(flight.receive(.failed(fault)) == .wait)
        _ = flight.receive(.end)
        #expect(flight.receive(.aborted) == .wait)
        _ = flight.receive(.end)
        #expect(flight.receive(.synchronized) == .finished)
        guard case .server(let error) = flight.failure else {
            Issue.record("no server error")
            return
        }
        #expect(error.callIndex == 1)
        #expect(error.sqlState == "23505")
    }

    @Test func `a failed or aborted PREPARE is not marked as prepared`() {
        var refused = flight([.prepare(call: 0), .execute(call: 0), .prepare(call: 1), .execute(call: 1)])
        let answers: [Flight.Answer] = [
            .failed(fault), .end, .aborted, .end, .aborted, .end, .aborted, .end, .synchronized,
        ]
        let actions = answers.map { refused.receive($0) }
        #expect(actions.dropLast().allSatisfy { $0 == .wait })
        #expect(actions.last == .finished)
    }

    @Test func `an error at the sync belongs to the last query`() {
        var flight = flight([.execute(call: 0), .execute(call: 1)])
        for answer in [fine, .end, fine, .end] { _ = flight.receive(answer) }
        #expect(flight.receive(.failed(fault)) == .wait)
        #expect(flight.receive(.end) == .wait)
        #expect(flight.receive(.synchronized) == .finished)
        guard case .server(let error) = flight.failure else {
            Issue.record("no server error")
            return
        }
        #expect(error.callIndex == 1)
    }

    @Test func `another row count than expected fails the pipeline`() {
        var flight = flight([.execute(call: 0), .execute(call: 1)], rows: [1, 1])
        for answer: Flight.Answer in [.succeeded(rowsTouched: 0, tag: "UPDATE 0"), .end, fine, .end, .synchronized] {
            _ = flight.receive(answer)
        }
        #expect(flight.failure == .guardFailed(callIndex: 0, expected: 1, got: 0))
    }

    @Test func `a server error takes precedence over a failed guard`() {
        var flight = flight([.execute(call: 0), .execute(call: 1)], rows: [1, nil])
        for answer: Flight.Answer in [
            .succeeded(rowsTouched: 2, tag: "UPDATE 2"), .end, .failed(fault), .end, .synchronized,
        ] {
            _ = flight.receive(answer)
        }
        #expect(flight.failure?.sqlState == "23505")
    }

    @Test func `a COMMIT with the answer ROLLBACK is a failure`() {
        var flight = flight([.execute(call: 0)], commitAt: 0)
        for answer: Flight.Answer in [.succeeded(rowsTouched: 0, tag: "ROLLBACK"), .end, .synchronized] {
            _ = flight.receive(answer)
        }
        #expect(flight.failure?.sqlState == "25P02")
    }

    @Test(arguments: ["26000", "0A000"])
    func `an invalid prepared statement is forgotten`(sqlState: String) {
        var flight = flight([.execute(call: 0)])
        #expect(flight.receive(.failed(ServerError(sqlState: sqlState, message: ""))) == .forget(call: 0))
    }

    @Test func `answers that violate the protocol break the pipeline`() {
        var early = flight([.execute(call: 0)])
        #expect(early.receive(.synchronized) == .broken)
        var twice = flight([.execute(call: 0)])
        _ = twice.receive(fine)
        #expect(twice.receive(fine) == .broken)
        var unasked = flight([.execute(call: 0)])
        #expect(unasked.receive(.end) == .broken)
        var baseless = flight([.execute(call: 0)])
        #expect(baseless.receive(.aborted) == .broken)
        var copy = flight([.execute(call: 0)])
        #expect(copy.receive(.unexpected) == .broken)
    }
}
