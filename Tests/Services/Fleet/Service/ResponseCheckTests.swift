import Records
import Testing

@testable import FleetService

/// The classification of responses.
@Suite struct ResponseCheckTests {
    private static let call = Call(.lifecycle, "POST", "/v1/devices/{device}/apps/{app}/transitions", ["d", "a"])

    @Test(arguments: [
        (200, Outcome.done([:], asOf: 9), 0), (409, .refused("illegal_transition"), 0), (500, .failed, 1),
        (502, .failed, 1), (202, .failed, 1), (301, .failed, 1), (418, .failed, 1),
    ])
    func `only documented responses are allowed`(status: Int, outcome: Outcome, violations: Int) async throws {
        try await Self.check { check in
            let document: JSON = status == 409 ? ["code": "illegal_transition"] : [:]
            #expect(check.outcome(status, document, Position("3:9"), of: Self.call) == outcome)
            #expect(check.statistics.counts.violations == violations)
            #expect(check.statistics.counts.isGood == (violations == 0))
        }
    }

    @Test func `a missing route is not a violation`() async throws {
        try await Self.check { check in
            let call = Call(.lifecycle, "POST", "/v1/devices/{device}/time-travel", ["d"])
            #expect(check.outcome(404, .null, nil, of: call) == .refused("not_offered"))
            #expect(check.statistics.counts.notOffered == ["lifecycle POST /v1/devices/{device}/time-travel"])
            #expect(check.statistics.counts.isGood && check.statistics.counts.errors == 0)
        }
    }

    @Test func `a refused document counts as an error`() async throws {
        try await Self.check { check in
            #expect(
                check.outcome(422, ["code": "invalid_document"], nil, of: Self.call) == .refused("invalid_document"))
            #expect(check.statistics.counts.errors == 1)
            #expect(check.statistics.counts.refusals == ["invalid_document": 1])
        }
    }

    private static func check(_ body: (ResponseCheck) -> Void) async throws {
        let client = try SuiteClient(Endpoints(), connections: 1, streams: 1)
        client.documentation.learn(
            .lifecycle,
            [
                "paths": [
                    "/v1/devices/{id}/apps/{name}/transitions": ["post": ["responses": ["200": [:], "409": [:]]]]
                ]
            ])
        body(ResponseCheck(client: client, statistics: RunStatistics()))
        await client.close()
    }
}
