import Contracts
import HTTPKit
import HTTPTypes
import Machines
import Records
import ServiceKit
import TestSupport
import Testing
import Timeline

@Suite("Problems of refusals") struct RefusalProblemTests {
    private static let statuses: [(RefusalReason.Kind, HTTPResponse.Status)] = [
        (.invalid, .badRequest), (.unprocessable, .unprocessableContent), (.notFound, .notFound),
        (.conflict, .conflict), (.gone(since: .epoch), .gone), (.unreadable(.unknownType("t")), .internalServerError),
    ]

    @Test(arguments: statuses) func `the kind of a refusal decides its status`(
        kind: RefusalReason.Kind, status: HTTPResponse.Status
    ) {
        let problem = Counter.Refusal(kind, "code", "Title", "Detail.").problem
        #expect(problem == Problem(status, "code", "Title", detail: "Detail."))
    }

    @Test func `a pattern matches the same refusal with the same values only`() {
        let error: any Error = Counter.Refusal.appNotInstalled("a")
        #expect(Counter.Refusal.appNotInstalled("a") ~= error)
        #expect(!(Counter.Refusal.appNotInstalled("b") ~= error))
        #expect(!(Counter.Refusal.appNotInstalled("a") ~= Problem.notFound))
    }

    @Test func `only an unreadable event has an error`() {
        let error = ContractError.malformed(type: "t", DocumentError([]))
        #expect(Counter.Refusal.unreadableEvent(error).unreadable == error)
        #expect(Counter.Refusal.deviceOff.unreadable == nil)
    }
}
