import Records
import TestSupport
import Testing

@testable import OpsService

/// What an operator learns about its own key.
@Suite(.tags(.database), .timeLimit(.minutes(2))) struct KeyRoutesTests {
    @Test func `an operator learns the name and the scopes of its key, and not the key`() async throws {
        try await OpsFixture.run { fixture in
            let reader = try await fixture.get("/v1/key")
            #expect(reader.status == 200 && reader.json == ["name": "r", "scopes": ["read"]])
            let operating = try await fixture.get("/v1/key", key: OpsFixture.operateKey)
            #expect(operating.json == ["name": "o", "scopes": ["operate", "read"]])
            #expect(try await fixture.get("/v1/key", key: OpsFixture.otherKey).status == 403)
            #expect(try await fixture.get("/v1/key", key: "wrong").status == 401)
            #expect(try await fixture.get("/v1/key", key: nil).status == 401)
        }
    }
}
