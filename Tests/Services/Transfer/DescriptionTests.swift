import Foundation
import NIOHTTP1
import TestSupport
import Testing

/// `/openapi.json` of the process as it runs. Beside these tests every other one holds its answers to it.
@Suite("The description of transfer", .timeLimit(.minutes(4))) struct DescriptionTests {
    private func run(_ body: (TransferSuite) async throws -> Void) async throws {
        let (suite, transfer) = try await TransferSuite.start()
        defer { transfer.signal(SIGTERM) }
        try await body(suite)
    }

    @Test func everyOperationThatIsDescribedIsARoute() async throws {
        try await run { suite in
            let operations = suite.description.operations
            #expect(operations.count > 40)
            for operation in operations {
                // A method that no path has tells of those that this one has.
                let answer = try await suite.send(.PURGE, suite.transferPort, operation.path([:]))
                let allowed = answer["Allow"]?.components(separatedBy: ", ") ?? []
                let described = operations.filter { $0.path == operation.path }.map(\.method)
                #expect(answer.status == 405 && allowed == described.sorted(), "\(operation.name)")
            }
        }
    }

    @Test func anAnswerThatIsNotDescribedIsAFault() async throws {
        try await run { suite in
            try await suite.prepare("phone")
            let (description, sessions) = (suite.description, "/v1/devices/phone/apps/app/sessions")
            let session = try await suite.send(.GET, suite.transferPort, sessions + "/s")
            #expect(description.fault(of: session, to: "GET", sessions + "/s") == nil)
            // It is no list, and nothing that was made.
            #expect(description.fault(of: session, to: "GET", sessions) != nil)
            #expect(description.fault(of: session, to: "POST", sessions + "/s/downloads") != nil)
            // They are bytes, whatever they say.
            #expect(description.fault(of: session, to: "GET", "/content/x") == nil)
            #expect(description.fault(of: session, to: "GET", "/uploads/x") != nil)
            #expect(description.fault(of: session, to: "HEAD", "/content/x") != nil, "HEAD has no body")
            let missing = try await suite.send(.GET, suite.transferPort, sessions + "/none")
            #expect(description.fault(of: missing, to: "GET", sessions + "/none") == nil)
            // An app has sessions, be they none.
            #expect(description.fault(of: missing, to: "GET", sessions) != nil)
        }
    }
}
