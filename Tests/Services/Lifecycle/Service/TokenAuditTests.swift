import Postgres
import Records
import TestSupport
import Testing

@testable import LifecycleService

/// The rows of the audit trail for tokens.
@Suite("Audit of tokens", .tags(.database), .timeLimit(.minutes(5))) struct TokenAuditTests {
    @Test func `each token that is issued or revoked leaves one row without a secret`() async throws {
        try await LifecycleFixture.run { fixture in
            let first = try await fixture.phone("d1")
            let keyed = ["Idempotency-Key": "k1"]
            // A repeated request does nothing, so it leaves no row.
            var secrets = [first, LifecycleFixture.operatorKey, LifecycleFixture.readerKey]
            for path in ["/v1/fleets/blue/token", "/v1/devices/d1/token"] {
                let headers = keyed.mapValues { $0 + (path.hasPrefix("/v1/fleets") ? "a" : "b") }
                let issued = try await fixture.send("POST", path, nil, headers)
                secrets.append(try #require(issued["token"]?.string))
                #expect(try await fixture.send("POST", path, nil, headers).code == "token_shown_once")
            }
            secrets.append(try #require(try await fixture.send("POST", "/v1/fleets/red/token")["token"]?.string))
            #expect(try await fixture.send("DELETE", "/v1/fleets/blue/token").status == 204)
            let own = try #require(try await fixture.send("POST", "/v1/devices/d1/token")["token"]?.string)
            secrets.append(own)
            #expect(try await fixture.send("DELETE", "/v1/devices/d1/token", key: own).status < 300)
            // Refused requests leave no row.
            let reader = LifecycleFixture.readerKey
            #expect(try await fixture.send("DELETE", "/v1/fleets/blue/token", key: reader).status == 403)
            #expect(try await fixture.send("POST", "/v1/devices/ghost/token").status == 404)

            let rows = try await fixture.pool.execute(
                Statement("SELECT actor_kind, actor, action, subject, address FROM bus.audit ORDER BY at, id")
            ).decode((String, String?, String, String?, String?).self)
            let told = rows.map { "\($0) \($1 ?? "–") \($2) \($3 ?? "–") \($4 ?? "–")" }.sorted()
            #expect(
                told == [
                    "device d1 deviceToken.revoked device:d1 127.0.0.1",
                    "operator alice deviceToken.rotated device:d1 127.0.0.1",
                    "operator alice deviceToken.rotated device:d1 127.0.0.1",
                    "operator alice fleetToken.issued fleet:blue 127.0.0.1",
                    "operator alice fleetToken.issued fleet:red 127.0.0.1",
                    "operator alice fleetToken.revoked fleet:blue 127.0.0.1",
                ])
            for secret in secrets {
                let found = try await fixture.pool.execute(
                    Query(
                        Statement("SELECT count(*) FROM bus.audit AS a WHERE position($1 IN a::text) > 0"),
                        [.text(secret)]))[0].decode(Int.self)
                #expect(found == 0)
            }
        }
    }

    @Test func `no token is issued or revoked without its row`() async throws {
        try await LifecycleFixture.run { fixture in
            let token = try await fixture.phone("d1")
            let fleet = try #require(try await fixture.send("POST", "/v1/fleets/blue/token")["token"]?.string)
            let refuse = "ALTER TABLE bus.audit ADD CONSTRAINT refused CHECK (action = '') NOT VALID"
            try await fixture.pool.execute(Statement(refuse))
            let issued = try await fixture.send("POST", "/v1/fleets/blue/token")
            #expect(issued.status >= 500 && issued["token"] == nil)
            #expect(try await fixture.send("DELETE", "/v1/fleets/blue/token").status >= 500)
            #expect(try await fixture.send("POST", "/v1/devices/d1/token").status >= 500)
            #expect(try await fixture.send("GET", "/v1/devices/d1", key: token).status == 200, "nothing was revoked")
            let revoked = try await fixture.pool.execute(Statement("SELECT 1 FROM bus.fleet_revocations"))
            #expect(revoked.isEmpty && !fleet.isEmpty)
        }
    }
}
