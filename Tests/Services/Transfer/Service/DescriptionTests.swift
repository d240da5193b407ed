import Foundation
import NIOHTTP1
import TestSupport
import Testing

/// `/openapi.json` of a running process. All other tests check their responses against it.
@Suite("OpenAPI document of transfer", .tags(.database, .processes), .timeLimit(.minutes(4))) struct DescriptionTests {
    private func run(_ body: (TransferSuite) async throws -> Void) async throws {
        let (suite, transfer) = try await TransferSuite.start()
        defer { transfer.signal(SIGTERM) }
        try await body(suite)
    }

    @Test func `every described operation is a route`() async throws {
        try await run { suite in
            let operations = suite.description.operations
            #expect(operations.count > 40)
            for operation in operations {
                // The 405 of an unknown method lists the methods of the path.
                let answer = try await suite.send(.PURGE, suite.transferPort, operation.path([:]))
                let allowed = answer["Allow"]?.components(separatedBy: ", ") ?? []
                let described = operations.filter { $0.path == operation.path }.map(\.method)
                #expect(answer.status == 405 && allowed == described.sorted(), "\(operation.name)")
            }
        }
    }

    @Test func `an undescribed response is a fault`() async throws {
        try await run { suite in
            try await suite.prepare("phone")
            let (description, sessions) = (suite.description, "/v1/devices/phone/apps/app/sessions")
            let session = try await suite.send(.GET, suite.transferPort, sessions + "/s")
            #expect(description.fault(of: session, to: "GET", sessions + "/s") == nil)
            // A session is not a list, and not a created task.
            #expect(description.fault(of: session, to: "GET", sessions) != nil)
            #expect(description.fault(of: session, to: "POST", sessions + "/s/downloads") != nil)
            // Content has any media type. An upload has only application/octet-stream.
            #expect(description.fault(of: session, to: "GET", "/content/x") == nil)
            #expect(description.fault(of: session, to: "GET", "/uploads/x") != nil)
            #expect(description.fault(of: session, to: "HEAD", "/content/x") != nil, "HEAD has no body")
            let missing = try await suite.send(.GET, suite.transferPort, sessions + "/none")
            #expect(description.fault(of: missing, to: "GET", sessions + "/none") == nil)
            // The list of sessions exists even if it is empty.
            #expect(description.fault(of: missing, to: "GET", sessions) != nil)
        }
    }
}
