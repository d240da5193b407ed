import Logging
import Postgres
import Records
import Synchronization
import TestSupport
import Testing
import Timeline

@testable import HTTPKit
@testable import Identity

/// The limits of bad credentials.
@Suite("Failed credentials", .tags(.database, .processes), .timeLimit(.minutes(5))) struct FailedCredentialTests {
    @Test func `an address with many bad credentials gets 429, and known credentials still work`() async throws {
        try await TestService.run(failures: 1) { service in
            let device = try await service.tokens.issue(device: "d1", fleet: "f1", id: "t", lifetime: .hours(1))
            #expect(try await service.send("GET", "/v1/devices/d1", key: device).status == 200)
            var codes: [String?] = []
            var last: ServiceKitTests.Answer?
            while codes.count < 40, last?.status != 429 {
                last = try await service.send("GET", "/v1/devices/d1", key: "garbage-\(codes.count)")
                codes.append(last?.code)
            }
            // The bucket holds the tokens of four seconds. A slow machine adds some meanwhile.
            #expect(codes.dropLast().count >= 4 && codes.dropLast().allSatisfy { $0 == "invalid_credential" })
            #expect(last?.code == "too_many_failed_credentials" && last?.headers["retry-after"] == "1")
            #expect(try await service.send("GET", "/v1/devices/d1").status == 200)
            #expect(try await service.send("GET", "/v1/devices/d1", key: device).status == 200)
            let new = try await service.tokens.issue(device: "d1", fleet: "f1", id: "new", lifetime: .hours(1))
            #expect(try await service.send("GET", "/v1/devices/d1", key: new).status == 200, "seen for the first time")
            let metrics = try await service.send("GET", "/metrics", key: nil).body
            #expect(metrics.contains(#"dormouse_auth_failures_total{reason="limited"}"#))
            #expect(metrics.contains(#"dormouse_auth_failures_total{reason="invalid"}"#))
            let lines = service.log.all.filter { $0.contains("invalid credentials") }
            #expect(lines.count == 1 && lines.first?.contains(#""address":"127.0.0.1""#) == true)
        }
    }

    @Test func `an address with many forged tokens gets 429 for new tokens`() async throws {
        try await TestService.run(failures: 1) { service in
            func token(_ id: String) async throws -> String {
                try await service.tokens.issue(device: "d1", fleet: "f1", id: id, lifetime: .hours(1))
            }
            let known = try await token("known")
            #expect(try await service.send("GET", "/v1/devices/d1", key: known).status == 200)
            var last: ServiceKitTests.Answer?
            for number in 0..<40 where last?.status != 429 {
                // The end of a signature can't be "AAAA" and right.
                let forged = String(try await token("t\(number)").dropLast(4)) + "AAAA"
                last = try await service.send("GET", "/v1/devices/d1", key: forged)
            }
            #expect(last?.code == "too_many_failed_credentials")
            #expect(try await service.send("GET", "/v1/devices/d1", key: token("new")).status == 429)
            #expect(try await service.send("GET", "/v1/devices/d1", key: known).status == 200)
            #expect(try await service.send("GET", "/v1/devices/d1", key: "garbage").code == "invalid_credential")
        }
    }

    @Test func `a service limits the invalid credentials of an address by default`() async throws {
        let service = try await CounterService.prepare()
        try await service.run { () async throws in
            var codes: Set<String> = []
            for round in 0..<40 where !codes.contains("too_many_failed_credentials") {
                let found = try await withThrowingTaskGroup(of: String?.self) { group in
                    for index in 0..<16 {
                        group.addTask { try await service.get("d1", as: "garbage-\(round)-\(index)").code }
                    }
                    return try await group.reduce(into: [String]()) { $0.append($1 ?? "") }
                }
                codes.formUnion(found)
            }
            #expect(codes == ["invalid_credential", "too_many_failed_credentials"])
            #expect(try await service.add(1, to: "d1").status == 200)
        }
        await service.pool.close()
    }

    @Test func `only a token with an unknown key causes a read of the keys`() async throws {
        let reads = Counted()
        let refresh: @Sendable () async -> Bool = {
            reads.add()
            return false
        }
        try await TestService.run(refresh: refresh) { service in
            let good = try await service.tokens.issue(device: "d1", fleet: "f1", id: "t", lifetime: .hours(1))
            let parts = good.split(separator: ".")
            let garbled = [
                "garbage", "a.b.c", "\(parts[0]).\(parts[1])", "\(parts[0]).\(parts[1]).", good + ".x",
                "\(parts[0]).\(parts[1]).AAAA", String(repeating: "a", count: 5000),
            ]
            for token in garbled {
                for _ in 0..<2 {
                    #expect(try await service.send("GET", "/v1/devices/d1", key: token).code == "invalid_credential")
                }
            }
            #expect(reads.count == 0)
            let stranger = try await DeviceTokens(pem: DeviceTokens.newKey(), keyID: "k2")
            let token = try await stranger.issue(device: "d1", fleet: "f1", id: "t", lifetime: .hours(1))
            #expect(try await service.send("GET", "/v1/devices/d1", key: token).code == "invalid_credential")
            #expect(reads.count == 1)
        }
    }

    @Test func `a verified token is refused once its key is no longer trusted`() async throws {
        let tokens = try await DeviceTokens(pem: DeviceTokens.newKey(), keyID: "k1")
        let verifier = DeviceTokenVerifier()
        try await verifier.trust(["k1": tokens.publicKey])
        let token = try await tokens.issue(device: "d1", fleet: "f1", id: "t", lifetime: .hours(1))
        #expect(verifier.verifiedClaims(of: Credential(token)) == nil)
        #expect(await verifier.claims(of: Credential(token))?.device == "d1")
        #expect(verifier.verifiedClaims(of: Credential(token))?.device == "d1")
        try await verifier.trust([:])
        #expect(verifier.verifiedClaims(of: Credential(token)) == nil)
        #expect(await verifier.claims(of: Credential(token)) == nil)
    }

    @Test func `a refused credential is remembered for a while`() {
        let failures = FailedCredentials()
        let start = ContinuousClock.now
        failures.remember("a", at: start)
        #expect(failures.contains("a", at: start + .seconds(9)) && !failures.contains("b", at: start))
        #expect(!failures.contains("a", at: start + .seconds(11)))
        failures.remember("a", at: start)
        failures.forget()
        #expect(!failures.contains("a", at: start))
    }
}

private final class Counted: Sendable {
    private let value = Mutex(0)
    var count: Int { value.withLock { $0 } }
    func add() { value.withLock { $0 += 1 } }
}
