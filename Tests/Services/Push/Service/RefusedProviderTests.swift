import Foundation
import Records
import TestSupport
import Testing
import Timeline

@testable import PushService

/// Providers with tokens that are not valid.
@Suite(.tags(.database, .processes), .timeLimit(.minutes(4))) struct RefusedProviderTests {
    @Test func `bad tokens are limited and audited, and a valid one from the same address is accepted`() async throws {
        let cluster = try await PrivateCluster.shared()
        let database = try await cluster.makeNamedDatabase()
        try await PushSuite.run(
            database: cluster.url(database: database), ["FAILED_CREDENTIALS_PER_SECOND": "1"]
        ) { suite in
            let token = try await suite.makeDevice("d")
            var stranger = suite.signer
            stranger.keyID = "NOKEYNOKEY"
            let bad = try await stranger.token(issuedAt: RealClock().now)
            for _ in 0..<30 {
                let answer = try await suite.notify(
                    token, ["aps": ["alert": "hello"]], ["authorization": "bearer \(bad)"])
                #expect(answer.status == 403 && answer.json["reason"] == "InvalidProviderToken")
            }
            let none = try await suite.notify(token, ["aps": ["alert": "hello"]], ["authorization": "none"])
            #expect(none.status == 403 && none.json["reason"] == "MissingProviderToken")
            let metrics = try await suite.text("/metrics")
            #expect(metrics.contains(#"dormouse_auth_failures_total{reason="invalid"} 30"#))
            #expect(metrics.contains(#"dormouse_auth_failures_total{reason="limited"}"#))
            #expect(try await suite.notify(token, ["aps": ["alert": "hello"]]).status == 200)
        }
        // The service writes its last counts when it stops.
        let rows = try await cluster.sql(
            """
            SELECT details ->> 'reason', address, sum(count) FROM bus.audit WHERE action = 'credential.refused'
            GROUP BY 1, 2 ORDER BY 1
            """, database: database)
        #expect(rows.contains("invalid|127.0.0.1|30"), "\(rows)")
        #expect(rows.contains("limited|127.0.0.1|"), "\(rows)")
    }

    @Test func `the audit trail has the registration and the removal of a key`() async throws {
        let cluster = try await PrivateCluster.shared()
        let database = try await cluster.makeNamedDatabase()
        try await PushSuite.run(database: cluster.url(database: database)) { suite in
            let path = "/v1/provider-keys/\(suite.signer.teamID)/\(suite.signer.keyID)"
            #expect(try await suite.send("DELETE", path).status == 204)
            // Nothing was removed, so there is no row.
            #expect(try await suite.send("DELETE", path).status == 404)
            let rows = try await cluster.sql(
                """
                SELECT action, actor_kind, actor, address, subject FROM bus.audit WHERE action LIKE 'providerKey.%' ORDER BY at
                """, database: database)
            let lines = ["created", "removed"].map {
                "providerKey.\($0)|operator|insecure-dev|127.0.0.1|providerKey:TEAMTEAM01:KEYKEYKEY1"
            }
            #expect(rows == lines.joined(separator: "\n"))
        }
    }
}
